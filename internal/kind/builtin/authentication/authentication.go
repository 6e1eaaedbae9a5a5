// Package authentication defines the kinds of the authentication.k8s.io group: reviews, which ask about tokens and
// users. The server does not store them: package internal/server/review answers them on create. Package
// internal/kind/builtin registers the kinds.
package authentication

import (
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server. cache bounds the memory for cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{
		kind.NewTyped(cache, kind.Info{
			Kind: "TokenReview", Plural: "tokenreviews", Singular: "tokenreview",
			Endpoints: []kind.Endpoint{{Group: authenticationv1.GroupName, Version: "v1"}},
			Verbs:     []string{"create"}, Review: true,
		}, kind.Rules[*authenticationv1.TokenReview]{}),
		kind.NewTyped(cache, kind.Info{
			Kind: "SelfSubjectReview", Plural: "selfsubjectreviews", Singular: "selfsubjectreview",
			Endpoints: []kind.Endpoint{{Group: authenticationv1.GroupName, Version: "v1"}},
			Verbs:     []string{"create"}, Review: true,
		}, kind.Rules[*authenticationv1.SelfSubjectReview]{}),
	}
}
