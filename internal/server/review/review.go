// Package review answers reviews: objects of the groups authentication.k8s.io and authorization.k8s.io that clients
// create to ask about tokens, users and rights. Package write calls it instead of storing such an object.
package review

import (
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/serviceaccount"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stored"
)

// Reviewer answers reviews. Its methods may be called concurrently.
type Reviewer struct {
	// Bearers authenticates tokens; nil if the server issues none.
	Bearers    *serviceaccount.Authenticator
	Authorizer auth.Authorizer
}

// Prepare checks a valid review further, and returns a function that answers it. That function returns the review with
// its status set, or another object. The caller calls the validating admission plugins in between.
func (r *Reviewer) Prepare(req *request.Request, obj kind.Object) (answer func() (kind.Object, error), err error) {
	switch o := obj.(type) {
	case *authenticationv1.TokenReview:
		if o.Spec.Token == "" {
			return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
		}
		return func() (kind.Object, error) { r.reviewToken(req, o); return o, nil }, nil
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

// reviewToken authenticates a token, for the audiences of the review or for the server. Like in the header of a
// request, the token ends at a space.
func (r *Reviewer) reviewToken(req *request.Request, review *authenticationv1.TokenReview) {
	review.Status = authenticationv1.TokenReviewStatus{} // whatever the client says
	token, ok := serviceaccount.BearerToken("Bearer " + review.Spec.Token)
	switch {
	case !ok:
		return
	case r.Bearers == nil:
		review.Status.Error = "invalid bearer token"
		return
	}
	user, audiences, err := r.Bearers.Review(req.Context(), token, review.Spec.Audiences)
	if err != nil {
		review.Status.Error = err.Error()
		return
	}
	for _, text := range user.Warnings {
		req.Warn(text)
	}
	review.Status.Authenticated, review.Status.User, review.Status.Audiences = true, describe(user), audiences
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
	info := authenticationv1.UserInfo{Username: user.Name, UID: user.UID, Groups: user.Groups}
	if len(user.Extra) > 0 {
		info.Extra = make(map[string]authenticationv1.ExtraValue, len(user.Extra))
		for key, values := range user.Extra {
			info.Extra[key] = values
		}
	}
	return info
}
