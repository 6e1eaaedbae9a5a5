package core

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
)

// serviceAccountToken issues a token of a service account.
var serviceAccountToken = kind.Subresource{
	Name:   "token",
	Kind:   authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"),
	Verbs:  []string{"create"},
	New:    func() runtime.Object { return &authenticationv1.TokenRequest{} },
	Issues: true,
}
