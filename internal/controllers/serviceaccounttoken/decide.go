package serviceaccounttoken

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// reference identifies the account of a Secret. uid is empty until the controller has filled the Secret.
type reference struct {
	name string
	uid  types.UID
}

// accountOf returns the account that a Secret names.
func accountOf(s *corev1.Secret) reference {
	return reference{s.Annotations[corev1.ServiceAccountNameKey], types.UID(s.Annotations[corev1.ServiceAccountUIDKey])}
}

// matches reports whether an account of the name is the one that is referred to.
func (r reference) matches(account *corev1.ServiceAccount) bool {
	return r.uid == "" || r.uid == account.UID
}

// input is the input of a decision.
type input struct {
	secret *corev1.Secret
	// account is nil if it does not exist.
	account *corev1.ServiceAccount
	// authority has the server's CA certificates; empty if they are unknown.
	authority []byte
	// token is a new token, if needsToken reports that there must be one.
	token string
}

// fixed reports whether the Secret is left as it is: the server would reject a change, or removes it soon.
func (in input) fixed() bool {
	return in.secret.DeletionTimestamp != nil || in.secret.Immutable != nil && *in.secret.Immutable
}

// needsToken reports whether a token must be signed.
func (in input) needsToken() bool {
	return in.account != nil && !in.fixed() && len(in.secret.Data[corev1.ServiceAccountTokenKey]) == 0
}

// content is what the controller sets in a Secret, except for the token itself, which is a new one each time.
type content struct {
	Authority, Namespace string
	Token                bool
}

func contentOf(s *corev1.Secret) content {
	return content{
		Authority: string(s.Data[corev1.ServiceAccountRootCAKey]),
		Namespace: string(s.Data[corev1.ServiceAccountNamespaceKey]),
		Token:     len(s.Data[corev1.ServiceAccountTokenKey]) > 0,
	}
}

// next returns the desired content. If the certificates are unknown, those in the Secret stay; so does any namespace.
func (in input) next() content {
	c := contentOf(in.secret)
	c.Token = true
	if c.Namespace == "" {
		c.Namespace = in.secret.Namespace
	}
	if len(in.authority) > 0 {
		c.Authority = string(in.authority)
	}
	return c
}

// fills reports whether the Secret lacks content.
func (in input) fills() bool {
	return in.account != nil && !in.fixed() && contentOf(in.secret) != in.next()
}

// decide returns the actions for a Secret. While wait is positive, content that another client has changed is not
// overwritten.
func decide(in input, wait time.Duration) []action.Action {
	switch {
	case in.secret.DeletionTimestamp != nil:
		return nil
	case in.account == nil:
		return []action.Action{action.Delete[*corev1.Secret]{Resource: secrets, Object: in.secret}}
	case !in.fills():
		return nil
	case wait > 0:
		return []action.Action{action.Requeue{After: wait}}
	}
	next, s := in.next(), in.secret.DeepCopy()
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	if next.Authority != "" {
		s.Data[corev1.ServiceAccountRootCAKey] = []byte(next.Authority)
	}
	s.Data[corev1.ServiceAccountNamespaceKey] = []byte(next.Namespace)
	if in.token != "" {
		s.Data[corev1.ServiceAccountTokenKey] = []byte(in.token)
	}
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, corev1.ServiceAccountUIDKey, string(in.account.UID))
	return []action.Action{action.Update[*corev1.Secret]{Resource: secrets, Object: s}}
}

// unlist returns the actions that remove a Secret from the list of an account.
func unlist(account *corev1.ServiceAccount, secret string) []action.Action {
	isSecret := func(listed corev1.ObjectReference) bool { return listed.Name == secret }
	if !slices.ContainsFunc(account.Secrets, isSecret) {
		return nil
	}
	account = account.DeepCopy()
	account.Secrets = slices.DeleteFunc(account.Secrets, isSecret)
	return []action.Action{action.Update[*corev1.ServiceAccount]{Resource: accounts, Object: account}}
}
