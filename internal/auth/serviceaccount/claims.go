package serviceaccount

import (
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/auth"
)

// Subject describes the service account of a token, and the object that the token is bound to.
type Subject struct {
	Namespace string
	Account   Reference
	// Pod, Secret and Node are nil unless the token is bound to such an object. A token that is bound to a pod also
	// names the pod's node; the UID is empty if the Node does not exist.
	Pod, Secret, Node *Reference
}

// Reference names an object. It is part of the claims of a token.
type Reference struct {
	Name string    `json:"name,omitempty"`
	UID  types.UID `json:"uid,omitempty"`
}

// Validity is the time in which a token is valid, and its audiences.
type Validity struct {
	Audiences []string
	// From is the time of issue.
	From time.Time
	// Lifetime is the time until the token expires.
	Lifetime time.Duration
	// WarnAfter is the time after which the use of an extended token is deprecated; 0 for other tokens.
	WarnAfter time.Duration
}

// privateClaims are the claims of Kubernetes, in one member of the token beside the registered claims.
type privateClaims struct {
	Kubernetes kubernetesClaims `json:"kubernetes.io,omitempty"`
}

type kubernetesClaims struct {
	Namespace string           `json:"namespace,omitempty"`
	Account   Reference        `json:"serviceaccount,omitempty"`
	Pod       *Reference       `json:"pod,omitempty"`
	Secret    *Reference       `json:"secret,omitempty"`
	Node      *Reference       `json:"node,omitempty"`
	WarnAfter *jwt.NumericDate `json:"warnafter,omitempty"`
}

// claims returns the claims of a new token.
func claims(s Subject, v Validity) (jwt.Claims, privateClaims) {
	registered := jwt.Claims{
		Issuer:    IssuerURL,
		Subject:   UserName(s.Namespace, s.Account.Name),
		Audience:  v.Audiences,
		ID:        uuid.NewString(),
		IssuedAt:  jwt.NewNumericDate(v.From),
		NotBefore: jwt.NewNumericDate(v.From),
		Expiry:    jwt.NewNumericDate(v.From.Add(v.Lifetime)),
	}
	private := privateClaims{Kubernetes: kubernetesClaims{
		Namespace: s.Namespace, Account: s.Account, Pod: s.Pod, Secret: s.Secret, Node: s.Node,
	}}
	if v.WarnAfter != 0 {
		private.Kubernetes.WarnAfter = jwt.NewNumericDate(v.From.Add(v.WarnAfter))
	}
	return registered, private
}

// accountsGroup is the group of all service accounts. Those of a namespace have a group of their own, with a colon and
// the namespace appended.
const accountsGroup = "system:serviceaccounts"

// UserName returns the user name of a service account.
func UserName(namespace, name string) string { return auth.AccountPrefix + namespace + ":" + name }

// ParseUserName returns the service account that a user name is of. ok is false for the names of other users.
func ParseUserName(name string) (namespace, account string, ok bool) {
	rest, ok := strings.CutPrefix(name, auth.AccountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, account, ok = strings.Cut(rest, ":")
	ok = ok && len(apivalidation.ValidateNamespaceName(namespace, false)) == 0 &&
		len(apivalidation.ValidateServiceAccountName(account, false)) == 0
	return namespace, account, ok
}

// Groups returns the groups of the service accounts in a namespace, without auth.AuthenticatedGroup.
func Groups(namespace string) []string {
	return []string{accountsGroup, accountsGroup + ":" + namespace}
}
