package auth

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Forbidden returns the denial (403) of a request with Kubernetes' wording and details. The reason is that of
// the Authorizer and may be empty.
func Forbidden(a Attributes, reason string) *apierrors.StatusError {
	message := a.describe()
	if reason != "" {
		message += ": " + reason
	}
	resource := schema.GroupResource{}
	if a.IsResource {
		resource = schema.GroupResource{Group: a.Group, Resource: a.Resource}
	}
	return apierrors.NewForbidden(resource, a.Name, errors.New(message))
}

// describe describes the denied action: the user, the verb and the resource or path.
func (a Attributes) describe() string {
	name := ""
	if a.User != nil {
		name = a.User.Name
	}
	if !a.IsResource {
		return fmt.Sprintf("User %q cannot %s path %q", name, a.Verb, a.Path)
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	where := "at the cluster scope"
	if a.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", a.Namespace)
	}
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", name, a.Verb, resource, a.Group, where)
}
