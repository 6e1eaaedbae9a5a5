package serviceaccount

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Lookup returns a stored object, or nil if the object does not exist. A service account is a *corev1.ServiceAccount,
// and a Secret a *corev1.Secret. namespace is empty for nodes. An error means that the object cannot be read.
type Lookup func(ctx context.Context, resource schema.GroupResource, namespace, name string) (metav1.Object, error)

// The resources of the objects in the claims of a token.
var (
	accounts = schema.GroupResource{Resource: "serviceaccounts"}
	pods     = schema.GroupResource{Resource: "pods"}
	secrets  = schema.GroupResource{Resource: "secrets"}
	nodes    = schema.GroupResource{Resource: "nodes"}
)

var errInvalidated = errors.New("service account token has been invalidated")

// checkObjects returns an error if the service account of a token, or the object that the token is bound to, is gone:
// it does not exist, another object has its name, or its deletion time passed more than a minute ago. Like in
// Kubernetes, the node of a token that is bound to a pod may be gone.
func (a *Authenticator) checkObjects(ctx context.Context, v *verified, now time.Time) error {
	account, err := a.lookup(ctx, accounts, v.Namespace, v.Account.Name)
	switch {
	case err != nil:
		return err
	case account == nil:
		return apierrors.NewNotFound(accounts, v.Account.Name)
	case account.GetUID() != v.Account.UID:
		return fmt.Errorf("service account UID (%s) does not match claim (%s)", account.GetUID(), v.Account.UID)
	case deleted(account, now):
		return fmt.Errorf("service account %s/%s has been deleted", v.Namespace, v.Account.Name)
	}
	if v.Secret != nil {
		if err := a.checkBound(ctx, secrets, v.Namespace, v.Secret, now,
			"secret UID (%s) does not match service account secret ref claim (%s)"); err != nil {
			return err
		}
	}
	switch {
	case v.Pod != nil:
		return a.checkBound(ctx, pods, v.Namespace, v.Pod, now,
			"pod UID (%s) does not match service account pod ref claim (%s)")
	case v.Node != nil:
		return a.checkBound(ctx, nodes, "", v.Node, now,
			"node UID (%s) does not match service account node ref claim (%s)")
	}
	return nil
}

// checkBound returns an error if the object that a token is bound to is gone. other is the format of the error of an
// object with another UID.
func (a *Authenticator) checkBound(ctx context.Context, resource schema.GroupResource, namespace string,
	to *Reference, now time.Time, other string) error {
	bound, err := a.lookup(ctx, resource, namespace, to.Name)
	switch {
	case err != nil || bound == nil:
		return errInvalidated
	case bound.GetUID() != to.UID:
		return fmt.Errorf(other, bound.GetUID(), to.UID)
	case deleted(bound, now):
		return errInvalidated
	}
	return nil
}

// deleted reports whether the deletion time of an object passed more than a minute ago.
func deleted(obj metav1.Object, now time.Time) bool {
	at := obj.GetDeletionTimestamp()
	return at != nil && at.Time.Before(now.Add(-jwt.DefaultLeeway))
}
