package write

import (
	"context"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bowline-dev/bowline/internal/auth"
)

// rights adapts the server's authorizer for CEL conditions such as authorizer.group("").resource("pods").check("get").
type rights Writer

var _ authorizer.UnconditionalAuthorizer = (*rights)(nil)

// Authorize implements authorizer.UnconditionalAuthorizer.
func (r *rights) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	user := a.GetUser()
	decision, reason, err := r.Authorizer.Authorize(ctx, auth.Attributes{
		User: &auth.User{
			Name: user.GetName(), UID: user.GetUID(), Groups: user.GetGroups(), Extra: user.GetExtra(),
		},
		Verb: a.GetVerb(), IsResource: a.IsResourceRequest(), Path: a.GetPath(),
		Group: a.GetAPIGroup(), Version: a.GetAPIVersion(), Resource: a.GetResource(), Subresource: a.GetSubresource(),
		Namespace: a.GetNamespace(), Name: a.GetName(),
	})
	switch decision {
	case auth.Allow:
		return authorizer.DecisionAllow, reason, err
	case auth.Deny:
		return authorizer.DecisionDeny, reason, err
	}
	return authorizer.DecisionNoOpinion, reason, err
}
