package write

import (
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/rbac"
	"github.com/bowline-dev/bowline/internal/kind"
)

// checkEscalation returns an error if obj is a role or a binding that grants rights which the user does not have, as in
// Kubernetes (pkg/registry/rbac): only members of system:masters, and users with the verb escalate on the role or bind
// on the bound role, may do that. It is part of each create and update and not a plugin, so it cannot be turned off. It
// checks what plugins and webhooks have made of the object, and runs again with each retry.
func checkEscalation(op *operation) error {
	req, user := op.req, op.req.User
	if req.Stored.Group != rbacv1.GroupName || !req.Info.Builtin || user == nil || user.In(auth.AdminGroup) ||
		onlyOwnership(op.obj, op.old) {
		return nil
	}
	g := (*granting)(op)
	switch obj := op.obj.(type) {
	case *rbacv1.Role:
		return g.checkRole(obj.Rules, false)
	case *rbacv1.ClusterRole:
		old, _ := op.old.(*rbacv1.ClusterRole)
		return g.checkRole(obj.Rules, aggregates(obj) || aggregates(old))
	case *rbacv1.RoleBinding:
		return g.checkBinding(obj.RoleRef)
	case *rbacv1.ClusterRoleBinding:
		return g.checkBinding(obj.RoleRef)
	}
	return nil
}

// granting is the write of a role or binding by a user who is not an administrator.
type granting operation

// aggregates reports whether a controller writes the rules of a cluster role, which may be nil.
func aggregates(role *rbacv1.ClusterRole) bool {
	return role != nil && role.AggregationRule != nil && len(role.AggregationRule.ClusterRoleSelectors) > 0
}

// onlyOwnership reports whether an update changes at most owner references, finalizers and managed fields. The garbage
// collector must be able to.
func onlyOwnership(obj, old kind.Object) bool {
	if old == nil {
		return false
	}
	same := obj.DeepCopyObject().(kind.Object)
	same.SetOwnerReferences(old.GetOwnerReferences())
	same.SetFinalizers(old.GetFinalizers())
	same.SetSelfLink(old.GetSelfLink())
	same.SetManagedFields(old.GetManagedFields())
	return equality.Semantic.DeepEqual(same, old)
}

// checkRole checks the rules of a role. An aggregated one needs all rights, because it may get any rules.
func (g *granting) checkRole(rules []rbacv1.PolicyRule, aggregated bool) error {
	req := g.req
	if g.mayGrant("escalate", req.GVR.Resource, req.Name) {
		return nil
	}
	err := g.checkGrant(rules)
	if err == nil && aggregated && g.checkGrant(rbac.Everything()) != nil {
		err = errors.New("must have cluster-admin privileges to use the aggregationRule")
	}
	if err != nil {
		return apierrors.NewForbidden(req.Resource(), g.obj.GetName(), err)
	}
	return nil
}

// checkBinding checks the rules of the role that a binding grants.
func (g *granting) checkBinding(ref rbacv1.RoleRef) error {
	req := g.req
	resource := rbacv1.Resource("roles")
	switch ref.Kind {
	case "Role":
	case "ClusterRole":
		resource = rbacv1.Resource("clusterroles")
	default:
		return nil // the kind's rules reject it
	}
	if g.mayGrant("bind", resource.Resource, ref.Name) {
		return nil
	}
	rules, err := g.rulesOf(ref, resource)
	if err != nil {
		return err
	}
	if err := g.checkGrant(rules); err != nil {
		return apierrors.NewForbidden(req.Resource(), g.obj.GetName(), err)
	}
	return nil
}

// mayGrant reports whether the user may use a verb on a role in the namespace of the request. An authorizer that fails
// gives no right.
func (g *granting) mayGrant(verb, resource, name string) bool {
	req := g.req
	decision, _, err := req.Authorizer.Authorize(req.Context(), auth.Attributes{User: req.User, Verb: verb,
		IsResource: true, Group: rbacv1.GroupName, Version: "*", Resource: resource, Namespace: req.Namespace, Name: name})
	if err != nil {
		g.Log.Warn("the right to grant roles cannot be checked", "user", req.User.Name, "verb", verb, "error", err)
	}
	return decision == auth.Allow
}

// rulesOf returns the newest rules of the role that a binding names.
func (g *granting) rulesOf(ref rbacv1.RoleRef, resource schema.GroupResource) ([]rbacv1.PolicyRule, error) {
	namespace := ""
	if ref.Kind == "Role" {
		namespace = g.req.ObjectNamespace
	}
	role, err := g.Reader.Get(g.req.Context(), resource, namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	switch role := role.(type) {
	case *rbacv1.Role:
		return role.Rules, nil
	case *rbacv1.ClusterRole:
		return role.Rules, nil
	}
	return nil, rbac.MissingRole(ref)
}

// checkGrant compares rules with those that the user holds in the namespace of the request.
func (g *granting) checkGrant(rules []rbacv1.PolicyRule) error {
	req := g.req
	lister, ok := req.Authorizer.(auth.RuleLister)
	if !ok {
		return errors.New("the authorizer does not support listing rules")
	}
	held, err := lister.RulesFor(req.Context(), req.User, req.Namespace)
	return rbac.CheckGrant(req.User, held, err, rules)
}
