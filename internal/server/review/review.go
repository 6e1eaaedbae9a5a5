// Package review answers reviews: objects of the groups authentication.k8s.io and authorization.k8s.io that clients
// create to ask about tokens, users and rights. Package write calls it instead of storing such an object.
package review

import (
	"context"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stored"
)

// Reviewer answers reviews. Its methods may be called concurrently.
type Reviewer struct {
	Authenticator auth.Authenticator
	Authorizer    auth.Authorizer
}

// Prepare checks a valid review further, and returns a function that answers it. That function returns the review with
// its status set, or another object. The caller calls the validating admission plugins in between.
func (r *Reviewer) Prepare(req *request.Request, obj kind.Object) (answer func() (kind.Object, error), err error) {
	switch o := obj.(type) {
	case *authenticationv1.TokenReview:
		if o.Spec.Token == "" {
			return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
		}
		return func() (kind.Object, error) { r.reviewToken(o); return o, nil }, nil
	case *authenticationv1.SelfSubjectReview:
		return func() (kind.Object, error) { return describeUser(req.User), nil }, nil
	case *authorizationv1.SubjectAccessReview:
		return func() (kind.Object, error) {
			o.Status = r.reviewAccess(req.Context(), subject(&o.Spec), o.Spec.ResourceAttributes,
				o.Spec.NonResourceAttributes)
			return o, nil
		}, nil
	case *authorizationv1.LocalSubjectAccessReview:
		return func() (kind.Object, error) {
			o.Status = r.reviewAccess(req.Context(), subject(&o.Spec), o.Spec.ResourceAttributes, nil)
			return o, nil
		}, nil
	case *authorizationv1.SelfSubjectAccessReview:
		return func() (kind.Object, error) {
			o.Status = r.reviewAccess(req.Context(), req.User, o.Spec.ResourceAttributes, o.Spec.NonResourceAttributes)
			return o, nil
		}, nil
	case *authorizationv1.SelfSubjectRulesReview:
		if o.Spec.Namespace == "" {
			return nil, apierrors.NewBadRequest("no namespace on request")
		}
		return func() (kind.Object, error) { return r.listRules(req.Context(), req.User, o.Spec.Namespace), nil }, nil
	}
	return nil, fmt.Errorf("the kind %s is not a review", req.GVK)
}

// reviewToken authenticates a request that has the token as its only credential. Anonymous users may not read the path
// of the request, so that an unknown token is not accepted as anonymous.
func (r *Reviewer) reviewToken(review *authenticationv1.TokenReview) {
	review.Status = authenticationv1.TokenReviewStatus{} // whatever the client says
	about, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "/apis", nil)
	if err != nil {
		review.Status.Error = err.Error()
		return
	}
	about.Header.Set("Authorization", "Bearer "+review.Spec.Token)
	user, ok, err := r.Authenticator.Authenticate(about)
	switch {
	case err != nil:
		review.Status.Error = err.Error()
	case !ok:
		review.Status.Error = "invalid bearer token"
	default:
		review.Status.Authenticated, review.Status.User = true, describe(user)
	}
}

func describeUser(user *auth.User) *authenticationv1.SelfSubjectReview {
	return &authenticationv1.SelfSubjectReview{
		TypeMeta: metav1.TypeMeta{
			Kind: "SelfSubjectReview", APIVersion: authenticationv1.SchemeGroupVersion.String(),
		},
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: stored.Now()},
		Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: describe(user)},
	}
}

func describe(user *auth.User) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: user.Name, Groups: user.Groups}
	if len(user.Extra) > 0 {
		info.Extra = make(map[string]authenticationv1.ExtraValue, len(user.Extra))
		for key, values := range user.Extra {
			info.Extra[key] = values
		}
	}
	return info
}
