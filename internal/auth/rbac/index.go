package rbac

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/bowline-dev/bowline/internal/auth"
)

// Index holds roles and bindings. The zero value has none. It implements auth.Authorizer and auth.RuleLister, whose
// methods do not allocate for requests that it allows.
type Index struct {
	// scopes are keyed by namespace. Cluster roles and their bindings are in the scope of the empty namespace.
	scopes table[string, *scope]
}

// scope is one namespace, or the cluster.
type scope struct {
	roles    table[string, []rbacv1.PolicyRule]
	bindings table[string, *binding]
	// grants are sorted by the name of their binding.
	grants table[subject, []grant]
}

// subject is the name of a user, which may be a service account's, or of a group.
type subject struct {
	group bool
	name  string
}

// binding is a RoleBinding or a ClusterRoleBinding.
type binding struct {
	namespace, name string
	role            rbacv1.RoleRef
	subjects        []subject // without duplicates
}

// grant is a binding, for one of its subjects.
type grant struct {
	*binding
	// reason is Kubernetes' text for a request that the binding allows.
	reason string
}

// userPrefix is the start of the user names of service accounts. A colon separates the namespace from the account.
const userPrefix = "system:serviceaccount:"

// subjectOf returns the subject of a binding and its description in a reason. ok is false for an unknown kind, and for
// a service account without a namespace in a ClusterRoleBinding.
func subjectOf(s *rbacv1.Subject, namespace string) (sub subject, described string, ok bool) {
	switch s.Kind {
	case rbacv1.UserKind:
		return subject{name: s.Name}, "User " + strconv.Quote(s.Name), true
	case rbacv1.GroupKind:
		return subject{group: true, name: s.Name}, "Group " + strconv.Quote(s.Name), true
	case rbacv1.ServiceAccountKind:
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		return subject{name: userPrefix + namespace + ":" + s.Name},
			"ServiceAccount " + strconv.Quote(s.Name+"/"+namespace), namespace != ""
	}
	return subject{}, "", false
}

// Authorize implements auth.Authorizer. It denies nothing. If no binding allows the request, the reason names the roles
// of the user's bindings that do not exist.
func (x *Index) Authorize(_ context.Context, a auth.Attributes) (auth.Decision, string, error) {
	if a.User == nil {
		return auth.NoOpinion, "", nil
	}
	reason, failed := "", false
	x.visit(a.User, a.Namespace, func(g *grant) bool {
		rules, ok := x.rules(g.role, g.namespace)
		failed = failed || !ok
		for i := range rules {
			if allows(&rules[i], &a) {
				reason = g.reason
				return false
			}
		}
		return true
	})
	switch {
	case reason != "":
		return auth.Allow, reason, nil
	case failed:
		return auth.NoOpinion, "RBAC: " + x.failures(a.User, a.Namespace).Error(), nil
	}
	return auth.NoOpinion, "", nil
}

// RulesFor implements auth.RuleLister. The error names the roles that do not exist.
func (x *Index) RulesFor(_ context.Context, user *auth.User, namespace string) (out auth.Rules, err error) {
	listed := map[*binding]bool{}
	failed := false
	x.visit(user, namespace, func(g *grant) bool {
		if listed[g.binding] {
			return true
		}
		listed[g.binding] = true
		rules, ok := x.rules(g.role, g.namespace)
		failed = failed || !ok
		for i := range rules {
			r := &rules[i]
			if len(r.Resources) > 0 {
				out.Resources = append(out.Resources, auth.ResourceRule{Verbs: r.Verbs, Groups: r.APIGroups,
					Resources: r.Resources, Names: r.ResourceNames})
			}
			if len(r.NonResourceURLs) > 0 {
				out.Paths = append(out.Paths, auth.PathRule{Verbs: r.Verbs, Paths: r.NonResourceURLs})
			}
		}
		return true
	})
	if failed {
		err = x.failures(user, namespace)
	}
	return out, err
}

// visit calls yield for the grants of a user in the cluster, and then in a namespace unless it is empty.
func (x *Index) visit(user *auth.User, namespace string, yield func(*grant) bool) {
	if x.scope("").visit(user, yield) && namespace != "" {
		x.scope(namespace).visit(user, yield)
	}
}

// scope returns the scope of a namespace, nil if it has no objects.
func (x *Index) scope(namespace string) *scope {
	s, _ := x.scopes.get(namespace)
	return s
}

// visit calls yield for the grants of a user in the scope, and reports whether all calls returned true.
func (s *scope) visit(user *auth.User, yield func(*grant) bool) bool {
	if s == nil || s.grants.empty() {
		return true
	}
	for i := -1; i < len(user.Groups); i++ {
		key := subject{name: user.Name}
		if i >= 0 {
			key = subject{group: true, name: user.Groups[i]}
		}
		grants, _ := s.grants.get(key)
		for j := range grants {
			if !yield(&grants[j]) {
				return false
			}
		}
	}
	return true
}

// rules returns the rules of the role of a binding in a namespace, which is empty for a ClusterRoleBinding.
func (x *Index) rules(ref rbacv1.RoleRef, namespace string) (rules []rbacv1.PolicyRule, ok bool) {
	var in *scope
	switch ref.Kind {
	case "Role":
		if namespace != "" {
			in = x.scope(namespace)
		}
	case "ClusterRole":
		in = x.scope("")
	}
	if in == nil {
		return nil, false
	}
	return in.roles.get(ref.Name)
}

// maxFailures bounds the roles that one error names.
const maxFailures = 16

// failures returns an error that names the roles of a user's bindings that do not exist.
func (x *Index) failures(user *auth.User, namespace string) error {
	var errs []error
	seen := map[string]bool{}
	x.visit(user, namespace, func(g *grant) bool {
		if _, ok := x.rules(g.role, g.namespace); ok {
			return true
		}
		err := MissingRole(g.role)
		switch {
		case seen[err.Error()]:
		case len(errs) == maxFailures:
			errs = append(errs, errors.New("and others"))
			return false
		default:
			seen[err.Error()] = true
			errs = append(errs, err)
		}
		return true
	})
	return utilerrors.NewAggregate(errs)
}

// MissingRole returns Kubernetes' error of a binding whose role does not exist.
func MissingRole(ref rbacv1.RoleRef) error {
	switch ref.Kind {
	case "Role":
		return apierrors.NewNotFound(rbacv1.Resource("role"), ref.Name)
	case "ClusterRole":
		return apierrors.NewNotFound(rbacv1.Resource("clusterrole"), ref.Name)
	}
	return fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
}
