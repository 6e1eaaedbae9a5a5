package auth

import (
	"context"
	"slices"
)

// SelfReviews allows all authenticated users to review their own name and rights. These are the rules of the Kubernetes
// role system:basic-user.
func SelfReviews() Authorizer { return selfReviews{} }

type selfReviews struct{}

// selfReviewRules allow the create of each review of the user's own name and rights.
var selfReviewRules = []ResourceRule{
	{Verbs: []string{"create"}, Groups: []string{"authorization.k8s.io"},
		Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}},
	{Verbs: []string{"create"}, Groups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}},
}

func (selfReviews) Authorize(_ context.Context, a Attributes) (Decision, string, error) {
	if a.IsResource && a.Verb == "create" && a.Subresource == "" && a.User != nil && a.User.In(AuthenticatedGroup) {
		for _, rule := range selfReviewRules {
			if rule.Groups[0] == a.Group && slices.Contains(rule.Resources, a.Resource) {
				return Allow, "", nil
			}
		}
	}
	return NoOpinion, "", nil
}

// RulesFor implements RuleLister.
func (selfReviews) RulesFor(_ context.Context, user *User, _ string) (Rules, error) {
	if !user.In(AuthenticatedGroup) {
		return Rules{}, nil
	}
	return Rules{Resources: slices.Clone(selfReviewRules)}, nil
}
