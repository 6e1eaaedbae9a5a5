package bowline

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"net"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/auth/serviceaccount"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/stored"
)

// tokenKey returns the key of Options.TokenKey, or a new one if that is nil.
func tokenKey(key *ecdsa.PrivateKey) (*ecdsa.PrivateKey, error) {
	if key == nil {
		return serviceaccount.NewKey()
	}
	if err := serviceaccount.CheckKey(key); err != nil {
		return nil, fmt.Errorf("invalid Options.TokenKey: %w", err)
	}
	return key, nil
}

// tokens returns what issues and authenticates the tokens of service accounts, and publishes their key.
func (p *Plane) tokens(kinds *kind.Registry) (*serviceaccount.Issuer, *serviceaccount.Authenticator, http.Handler,
	error) {
	issuer, err := serviceaccount.NewIssuer(p.options.TokenKey, p.parentKeys...)
	if err != nil {
		return nil, nil, nil, err
	}
	openID, err := issuer.OpenID(p.externalAddress())
	if err != nil {
		return nil, nil, nil, err
	}
	reader := stored.NewReader(p.store, kinds)
	lookup := func(ctx context.Context, gr schema.GroupResource, namespace, name string) (metav1.Object, error) {
		return reader.Get(ctx, gr, namespace, name)
	}
	bearers := serviceaccount.NewAuthenticator(issuer, lookup)
	bearers.RecordUses(p.labelUse)
	return issuer, bearers, openID, nil
}

// labelUse labels a Secret with the day on which its token was used. A failure is logged, and does not fail the request
// that used the token.
func (p *Plane) labelUse(ctx context.Context, secret *corev1.Secret, day string) {
	c, err := client.New(p.RESTConfig())
	if err == nil {
		body := fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:%q}}}`, secret.UID, serviceaccount.LastUsedLabel, day)
		_, err = client.Of[*corev1.Secret](c, secrets).Patch(ctx, secret.Namespace, secret.Name, "",
			types.MergePatchType, body, metav1.PatchOptions{})
	}
	if err != nil {
		p.log.Warn("the use of a token could not be recorded", "namespace", secret.Namespace, "secret", secret.Name,
			"error", err)
	}
}

// signToken returns the token that a Secret holds for its service account.
func (p *Plane) signToken(account *corev1.ServiceAccount, secret string) (string, error) {
	reference := serviceaccount.Reference{Name: account.Name, UID: account.UID}
	return p.issuer.IssueLegacy(account.Namespace, reference, secret)
}

// externalAddress returns the host and port of the API for clients on other machines, or for those on this machine if
// others cannot reach it. Without a socket, it is the name of the API in a cluster.
func (p *Plane) externalAddress() string {
	if p.listener == nil {
		return "kubernetes.default.svc.cluster.local"
	}
	if address := p.advertisedAddress(); address.IsValid() {
		return address.String()
	}
	at := p.listener.Addr().(*net.TCPAddr).AddrPort()
	if !at.Addr().IsUnspecified() {
		return at.String()
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(at.Port()))
}
