package review

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/auth"
)

// listRules returns the rights of the user in a namespace. As in Kubernetes, the answer has no spec.
func (r *Reviewer) listRules(ctx context.Context, user *auth.User,
	namespace string) *authorizationv1.SelfSubjectRulesReview {
	review := &authorizationv1.SelfSubjectRulesReview{TypeMeta: metav1.TypeMeta{
		Kind: "SelfSubjectRulesReview", APIVersion: authorizationv1.SchemeGroupVersion.String(),
	}}
	s := &review.Status
	s.ResourceRules, s.NonResourceRules = []authorizationv1.ResourceRule{}, []authorizationv1.NonResourceRule{}
	lister, ok := r.Authorizer.(auth.RuleLister)
	if !ok {
		s.Incomplete, s.EvaluationError = true, "the authorizer does not support listing rules"
		return review
	}
	rules, err := lister.RulesFor(ctx, user, namespace)
	if err != nil {
		s.EvaluationError = err.Error()
	}
	s.Incomplete = rules.Incomplete
	for _, rule := range rules.Resources {
		s.ResourceRules = append(s.ResourceRules, authorizationv1.ResourceRule{Verbs: rule.Verbs,
			APIGroups: rule.Groups, Resources: rule.Resources, ResourceNames: rule.Names})
	}
	for _, rule := range rules.Paths {
		s.NonResourceRules = append(s.NonResourceRules, authorizationv1.NonResourceRule{Verbs: rule.Verbs,
			NonResourceURLs: rule.Paths})
	}
	return review
}
