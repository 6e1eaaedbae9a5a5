package write

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/stored"
)

// checkParams returns an error if an admission policy, or a binding of one, reads parameters that the user may not
// read: the policy's messages show them. As in Kubernetes (pkg/registry/admissionregistration), a policy needs the
// right to get all objects of the kind, and a binding the right to get or list those that it names. Members of
// system:masters, and updates that do not change what is read, are not checked.
func checkParams(op *operation) *field.Error {
	req := op.req
	if req.Subresource != "" || req.User == nil || req.User.In(auth.AdminGroup) {
		return nil
	}
	now, was, r := paramsOf(op.obj), paramsOf(op.old), (*reading)(op)
	switch {
	case now.kind != nil:
		if was.kind != nil && *was.kind == *now.kind {
			return nil
		}
		if err := r.mayReadKind(now.kind); err != nil {
			return field.Forbidden(field.NewPath("spec", "paramKind"), err.Error())
		}
	case now.ref != nil:
		// Like Kubernetes, compare selectors and actions by identity: they are checked again with each update.
		if was.ref != nil && *was.ref == *now.ref && was.policy == now.policy {
			return nil
		}
		if err := r.mayReadRef(now); err != nil {
			return field.Forbidden(field.NewPath("spec", "paramRef"), err.Error())
		}
	}
	return nil
}

// params are what a policy or a binding says about parameters.
type params struct {
	kind   *admissionregistrationv1.ParamKind // of a policy
	ref    *admissionregistrationv1.ParamRef  // of a binding
	policy string                             // that the binding names
	// policies is the resource of that policy.
	policies schema.GroupResource
}

// paramsOf returns the parameters of an object, which may be nil or of any kind.
func paramsOf(obj kind.Object) params {
	switch obj := obj.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return params{kind: obj.Spec.ParamKind}
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		return params{kind: obj.Spec.ParamKind}
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		return params{ref: obj.Spec.ParamRef, policy: obj.Spec.PolicyName,
			policies: admissionregistrationv1.Resource("validatingadmissionpolicies")}
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		return params{ref: obj.Spec.ParamRef, policy: obj.Spec.PolicyName,
			policies: admissionregistrationv1.Resource("mutatingadmissionpolicies")}
	}
	return params{}
}

// reading is the write of a policy or binding by a user who is not an administrator.
type reading operation

// resourceOf returns the right that reading a kind of parameters needs, with "*" for what is unknown. The error says
// why something is.
func (r *reading) resourceOf(k *admissionregistrationv1.ParamKind) (auth.Attributes, error) {
	a := auth.Attributes{User: r.req.User, IsResource: true, Group: "*", Version: "*", Resource: "*"}
	gv, err := schema.ParseGroupVersion(k.APIVersion)
	if err != nil {
		return a, fmt.Errorf("unable to parse paramKind %v", k)
	}
	a.Group, a.Version = gv.Group, gv.Version
	found, ok := stored.Named(r.Kinds.Kinds(), gv.WithKind(k.Kind))
	if !ok {
		return a, fmt.Errorf("unable to resolve paramKind %v", k)
	}
	a.Resource = found.Info().GroupResource().Resource
	return a, nil
}

func (r *reading) mayReadKind(k *admissionregistrationv1.ParamKind) error {
	a, _ := r.resourceOf(k)
	a.Verb, a.Name, a.Namespace = "get", "*", "*"
	decision, _, err := r.req.Authorizer.Authorize(r.req.Context(), a)
	if err != nil || decision == auth.Allow {
		return err
	}
	return fmt.Errorf("user %v must have \"get\" permission on all objects of the referenced paramKind (kind=%s, "+
		"apiVersion=%s)", shownUser(r.req.User), k.Kind, k.APIVersion)
}

func (r *reading) mayReadRef(p params) error {
	a := auth.Attributes{User: r.req.User, IsResource: true, Group: "*", Version: "*", Resource: "*"}
	var unknown error
	policy, err := r.Reader.Get(r.req.Context(), p.policies, "", p.policy)
	if err != nil || policy == nil {
		unknown = fmt.Errorf("unable to get policy %s", p.policy)
	} else if k := paramsOf(policy).kind; k != nil {
		a, unknown = r.resourceOf(k)
	}
	a.Verb, a.Name, a.Namespace = "get", p.ref.Name, p.ref.Namespace
	if a.Name == "" {
		a.Verb = "list"
	}
	decision, _, err := r.req.Authorizer.Authorize(r.req.Context(), a)
	switch {
	case err != nil || decision == auth.Allow:
		return err
	case unknown != nil:
		return fmt.Errorf("%w to determine minimum required permissions and user %v does not have %q permission for all "+
			"groups, versions and resources", unknown, shownUser(r.req.User), a.Verb)
	}
	return fmt.Errorf("user %v does not have %q permission on the object referenced by paramRef", shownUser(r.req.User),
		a.Verb)
}

// shownUser returns a user as Kubernetes' errors show it.
func shownUser(u *auth.User) *user.DefaultInfo {
	return &user.DefaultInfo{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra}
}
