// Package authorization defines the kinds of the authorization.k8s.io group: reviews, which ask what users may do.
// Validation follows Kubernetes (pkg/apis/authorization/validation). The server does not store reviews: package
// internal/server/review answers them on create. Package internal/kind/builtin registers the kinds.
package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server. cache bounds the memory for cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{
		kind.NewTyped(cache, info("SubjectAccessReview", "subjectaccessreviews", "subjectaccessreview"),
			kind.Rules[*authorizationv1.SubjectAccessReview]{Validate: validateReview}),
		kind.NewTyped(cache, info("SelfSubjectAccessReview", "selfsubjectaccessreviews", "selfsubjectaccessreview"),
			kind.Rules[*authorizationv1.SelfSubjectAccessReview]{Validate: validateSelfReview}),
		kind.NewTyped(cache, namespaced(info("LocalSubjectAccessReview", "localsubjectaccessreviews",
			"localsubjectaccessreview")), kind.Rules[*authorizationv1.LocalSubjectAccessReview]{
			Validate: validateLocalReview,
		}),
		kind.NewTyped(cache, info("SelfSubjectRulesReview", "selfsubjectrulesreviews", "selfsubjectrulesreview"),
			kind.Rules[*authorizationv1.SelfSubjectRulesReview]{}),
	}
}

func info(name, plural, singular string) kind.Info {
	return kind.Info{
		Kind: name, Plural: plural, Singular: singular,
		Endpoints: []kind.Endpoint{{Group: authorizationv1.GroupName, Version: "v1"}},
		Verbs:     []string{"create"}, Review: true,
	}
}

func namespaced(i kind.Info) kind.Info {
	i.Namespaced = true
	return i
}

// ownMetadata returns the metadata without the fields that the server sets.
func ownMetadata(meta metav1.ObjectMeta) metav1.ObjectMeta {
	meta.ManagedFields = nil
	return meta
}
