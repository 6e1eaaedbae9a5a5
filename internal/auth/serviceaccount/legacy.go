package serviceaccount

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/auth"
)

// LegacyIssuer is the issuer of the tokens that Secrets hold, as in Kubernetes.
const LegacyIssuer = "kubernetes/serviceaccount"

// Labels of the Secrets that hold tokens.
const (
	// LastUsedLabel has the day on which the token of a Secret was last used, in UTC.
	LastUsedLabel = "kubernetes.io/legacy-token-last-used"
	// invalidSinceLabel marks a Secret whose token is no longer accepted, whatever its value.
	invalidSinceLabel = "kubernetes.io/legacy-token-invalid-since"
)

// generatedWarning is the warning to clients that use a token which an old Kubernetes created without a request. Its
// text is Kubernetes'.
const generatedWarning = "Use tokens from the TokenRequest API or manually created secret-based tokens instead of " +
	"auto-generated secret-based tokens."

// legacyClaims are the claims of Kubernetes in a legacy token, beside the registered ones.
type legacyClaims struct {
	Account   string    `json:"kubernetes.io/serviceaccount/service-account.name,omitempty"`
	UID       types.UID `json:"kubernetes.io/serviceaccount/service-account.uid,omitempty"`
	Secret    string    `json:"kubernetes.io/serviceaccount/secret.name,omitempty"`
	Namespace string    `json:"kubernetes.io/serviceaccount/namespace,omitempty"`
}

// check returns an error if a claim is missing, or if the subject is not the account.
func (c *legacyClaims) check(subject string) error {
	for _, claim := range []struct{ name, value string }{
		{"sub", subject}, {"namespace", c.Namespace}, {"secretName", c.Secret},
		{"serviceAccountName", c.Account}, {"serviceAccountUID", string(c.UID)},
	} {
		if claim.value == "" {
			return fmt.Errorf("%s claim is missing", claim.name)
		}
	}
	if namespace, name, ok := ParseUserName(subject); !ok || namespace != c.Namespace || name != c.Account {
		return errors.New("sub claim is invalid")
	}
	return nil
}

var (
	//lint:ignore ST1005 the text is Kubernetes'
	errNoSecret = errors.New("Token has been invalidated")
	//lint:ignore ST1005 the text is Kubernetes'
	errOtherToken = errors.New("Token does not match server's copy")
)

// checkLegacy returns the user of a legacy token. It returns an error unless the Secret and the service account exist,
// are not being deleted, and the Secret holds the token. It records the use of the token.
func (a *Authenticator) checkLegacy(ctx context.Context, v *verified, token string, now time.Time) (*auth.User, error) {
	found, err := a.lookup(ctx, secrets, v.Namespace, v.heldIn)
	secret, ok := found.(*corev1.Secret)
	switch {
	case err != nil || !ok || secret.DeletionTimestamp != nil:
		return nil, errNoSecret
	case subtle.ConstantTimeCompare(secret.Data[corev1.ServiceAccountTokenKey], []byte(token)) == 0:
		return nil, errOtherToken
	}
	found, err = a.lookup(ctx, accounts, v.Namespace, v.Account.Name)
	account, ok := found.(*corev1.ServiceAccount)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, apierrors.NewNotFound(accounts, v.Account.Name)
	case account.DeletionTimestamp != nil:
		return nil, fmt.Errorf("ServiceAccount %s/%s has been deleted", v.Namespace, v.Account.Name)
	case account.UID != v.Account.UID:
		return nil, fmt.Errorf("ServiceAccount UID (%s) does not match claim (%s)", account.UID, v.Account.UID)
	}
	a.uses.record(ctx, secret, now)
	if secret.Labels[invalidSinceLabel] != "" {
		return nil, fmt.Errorf("the token in secret %s/%s for service account %s/%s has been marked invalid. Use tokens "+
			"from the TokenRequest API or manually created secret-based tokens, or remove the '%s' label from the secret to "+
			"temporarily allow use of this token", v.Namespace, v.heldIn, v.Namespace, v.Account.Name, invalidSinceLabel)
	}
	for _, listed := range account.Secrets {
		if listed.Name == v.heldIn {
			user := *v.user
			user.Warnings = []string{generatedWarning}
			return &user, nil
		}
	}
	return v.user, nil
}

// RecordUses sets a function that labels a Secret: LastUsedLabel gets a day. Call RecordUses before the first token is
// authenticated. Without it, no use is recorded.
func (a *Authenticator) RecordUses(label func(ctx context.Context, secret *corev1.Secret, day string)) {
	a.uses.label = label
}

// uses records the use of legacy tokens, once a day for each Secret.
type uses struct {
	label func(ctx context.Context, secret *corev1.Secret, day string)
	// labeling has the Secrets that are being labeled. Authentication of other requests does not wait for that: a
	// webhook that is called for the write of a label may use the token itself.
	labeling sync.Map
}

// recordTimeout bounds how long a request waits until the use of its token is recorded.
const recordTimeout = 5 * time.Second

// record labels a Secret with today's date. A label with tomorrow's date is left: the clock of another server may be
// ahead.
func (u *uses) record(ctx context.Context, secret *corev1.Secret, now time.Time) {
	now = now.UTC()
	today, last := now.Format(time.DateOnly), secret.Labels[LastUsedLabel]
	if u.label == nil || last == today || last == now.AddDate(0, 0, 1).Format(time.DateOnly) {
		return
	}
	if _, busy := u.labeling.LoadOrStore(secret.UID, true); busy {
		return
	}
	defer u.labeling.Delete(secret.UID)
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	u.label(ctx, secret, today)
}
