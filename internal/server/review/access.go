package review

import (
	"cmp"
	"context"
	"errors"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/bowline-dev/bowline/internal/auth"
)

// subject returns the user that a review asks about.
func subject(spec *authorizationv1.SubjectAccessReviewSpec) *auth.User {
	user := &auth.User{Name: spec.User, UID: spec.UID, Groups: spec.Groups}
	if spec.Extra != nil {
		user.Extra = make(map[string][]string, len(spec.Extra))
		for key, values := range spec.Extra {
			user.Extra[key] = values
		}
	}
	return user
}

// reviewAccess returns the authorizer's decision about an action: on a resource or, if resource is nil, on a path.
func (r *Reviewer) reviewAccess(ctx context.Context, user *auth.User, resource *authorizationv1.ResourceAttributes,
	path *authorizationv1.NonResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	a := auth.Attributes{User: user}
	var problems []string
	if resource != nil {
		a.IsResource, a.Verb, a.Group, a.Version = true, resource.Verb, resource.Group, cmp.Or(resource.Version, "*")
		a.Resource, a.Subresource = resource.Resource, resource.Subresource
		a.Namespace, a.Name = resource.Namespace, resource.Name
		problems = checkSelectors(resource)
	} else {
		a.Verb, a.Path = path.Verb, path.Path
	}
	decision, reason, err := r.Authorizer.Authorize(ctx, a)
	if err != nil {
		problems = append([]string{err.Error()}, problems...)
	}
	return authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == auth.Allow, Denied: decision == auth.Deny, Reason: reason,
		EvaluationError: strings.Join(problems, "; "),
	}
}

// checkSelectors reports the selectors that this server cannot read, in whole or in part. The selectors do not affect
// the decision, which is about all objects: a user who may act on all of them may act on those that a selector matches.
func checkSelectors(a *authorizationv1.ResourceAttributes) (problems []string) {
	report := func(name string, read int, err error) {
		switch {
		case err == nil:
		case read > 0:
			problems = append(problems, "spec.resourceAttributes."+name+" partially ignored due to parse error")
		default:
			problems = append(problems, "spec.resourceAttributes."+name+" ignored due to parse error")
		}
	}
	if s := a.FieldSelector; s != nil {
		if len(s.Requirements) > 0 {
			read, err := readFields(s.Requirements)
			report("fieldSelector", read, err)
		} else {
			_, err := readText(s.RawSelector, fields.ParseSelector)
			report("fieldSelector", 0, err)
		}
	}
	if s := a.LabelSelector; s != nil {
		if len(s.Requirements) > 0 {
			read, err := readLabels(s.Requirements)
			report("labelSelector", read, err)
		} else {
			_, err := readText(s.RawSelector, func(text string) (labels.Selector, error) { return labels.Parse(text) })
			report("labelSelector", 0, err)
		}
	}
	return problems
}

// errUnread reports a requirement that this server cannot read.
var errUnread = errors.New("cannot be read")

// maxSelector is the length of a selector that is read: longer ones take seconds.
const maxSelector = 64 << 10

func readText[T any](text string, parse func(string) (T, error)) (selector T, err error) {
	if len(text) > maxSelector {
		return selector, errUnread
	}
	return parse(text)
}

// readFields counts the requirements that a field selector can express: a field has, or does not have, one value.
func readFields(requirements []metav1.FieldSelectorRequirement) (read int, err error) {
	for _, r := range requirements {
		if len(r.Values) == 1 && (r.Operator == metav1.FieldSelectorOpIn || r.Operator == metav1.FieldSelectorOpNotIn) {
			read++
		} else {
			err = errUnread
		}
	}
	return read, err
}

// readLabels counts the valid requirements of a label selector.
func readLabels(requirements []metav1.LabelSelectorRequirement) (read int, err error) {
	operators := map[metav1.LabelSelectorOperator]selection.Operator{
		metav1.LabelSelectorOpIn: selection.In, metav1.LabelSelectorOpNotIn: selection.NotIn,
		metav1.LabelSelectorOpExists: selection.Exists, metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
	}
	for _, r := range requirements {
		op, known := operators[r.Operator]
		if !known {
			err = errUnread
		} else if _, invalid := labels.NewRequirement(r.Key, op, r.Values); invalid != nil {
			err = invalid
		} else {
			read++
		}
	}
	return read, err
}
