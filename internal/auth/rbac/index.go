package rbac

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/bowline-dev/bowline/internal/auth"
)

// Index holds roles and bindings. The zero value has none. It implements auth.Authorizer and auth.RuleLister.
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
	subjects        []member // without duplicates
}

// member is a subject of a binding.
type member struct {
	subject
	account bool // whether the binding names a service account, and not its user name
}

// grant is a binding, for one of its subjects.
type grant struct {
	*binding
	account bool // as in member
}

// memberOf returns a subject of a binding. ok is false for an unknown kind, and for a service account without a
// namespace in a ClusterRoleBinding.
func memberOf(s *rbacv1.Subject, namespace string) (m member, ok bool) {
	switch s.Kind {
	case rbacv1.UserKind:
		return member{subject: subject{name: s.Name}}, true
	case rbacv1.GroupKind:
		return member{subject: subject{group: true, name: s.Name}}, true
	case rbacv1.ServiceAccountKind:
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		return member{subject{name: auth.AccountPrefix + namespace + ":" + s.Name}, true}, namespace != ""
	}
	return member{}, false
}

// Authorize implements auth.Authorizer. It denies nothing. If no binding allows the request, the reason names the roles
// of the user's bindings that do not exist.
func (x *Index) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, string, error) {
	if a.User == nil {
		return auth.NoOpinion, "", nil
	}
	var (
		by     *grant
		to     subject
		tried  seen[rbacv1.PolicyRule]
		failed bool
	)
	x.visit(ctx, a.User, a.Namespace, func(s subject, g *grant) bool {
		rules, ok := x.rules(g.role, g.namespace)
		failed = failed || !ok
		if len(rules) == 0 || !tried.add(&rules[0]) {
			return true
		}
		for i := range rules {
			if allows(&rules[i], &a) {
				by, to = g, s
				return false
			}
		}
		return true
	})
	if by != nil {
		return auth.Allow, reason(by, to), nil
	}
	if err := ctx.Err(); err != nil {
		return auth.NoOpinion, "", err
	}
	if failed {
		return auth.NoOpinion, "RBAC: " + x.failures(ctx, a.User, a.Namespace).Error(), nil
	}
	return auth.NoOpinion, "", nil
}

// reason returns Kubernetes' text for a request that a binding allows one of its subjects, with shortened names.
func reason(g *grant, s subject) string {
	kind, name := "ClusterRoleBinding", shortened(g.name)
	if g.namespace != "" {
		kind, name = "RoleBinding", name+"/"+shortened(g.namespace)
	}
	to, who := "User", shortened(s.name)
	switch {
	case s.group:
		to = "Group"
	case g.account:
		namespace, account, _ := strings.Cut(s.name[len(auth.AccountPrefix):], ":")
		to, who = "ServiceAccount", shortened(account)+"/"+shortened(namespace)
	}
	return "RBAC: allowed by " + kind + " " + strconv.Quote(name) + " of " + g.role.Kind + " " +
		strconv.Quote(shortened(g.role.Name)) + " to " + to + " " + strconv.Quote(who)
}

// RulesFor implements auth.RuleLister. It lists the rules of a role once, however many bindings it has. The error names
// the roles that do not exist.
func (x *Index) RulesFor(ctx context.Context, user *auth.User, namespace string) (out auth.Rules, err error) {
	var listed seen[rbacv1.PolicyRule]
	failed := false
	x.visit(ctx, user, namespace, func(_ subject, g *grant) bool {
		rules, ok := x.rules(g.role, g.namespace)
		failed = failed || !ok
		if len(rules) == 0 || !listed.add(&rules[0]) {
			return true
		}
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
	if err := ctx.Err(); err != nil {
		return out, err
	}
	if failed {
		err = x.failures(ctx, user, namespace)
	}
	return out, err
}

// visitor visits the grants of a user.
type visitor struct {
	user    *auth.User
	visited seen[grant] // the first grant of each subject
	steps   int
}

// stepsPerCheck is the number of groups and grants between two checks for the end of a request.
const stepsPerCheck = 16

// visit calls yield for the grants of a user in the cluster, and then in a namespace unless it is empty, until yield
// returns false or ctx ends.
func (x *Index) visit(ctx context.Context, user *auth.User, namespace string, yield func(subject, *grant) bool) {
	v := visitor{user: user}
	if v.visit(ctx, x.scope(""), yield) && namespace != "" {
		v.visit(ctx, x.scope(namespace), yield)
	}
}

// scope returns the scope of a namespace, nil if it has no objects.
func (x *Index) scope(namespace string) *scope {
	s, _ := x.scopes.get(namespace)
	return s
}

// visit visits the grants in a scope, and reports whether to continue. It visits a repeated group once.
func (v *visitor) visit(ctx context.Context, in *scope, yield func(subject, *grant) bool) bool {
	if in == nil || in.grants.empty() {
		return true
	}
	for i := -1; i < len(v.user.Groups); i++ {
		key := subject{name: v.user.Name}
		if i >= 0 {
			key = subject{group: true, name: v.user.Groups[i]}
		}
		grants, _ := in.grants.get(key)
		if len(grants) > 0 && !v.visited.add(&grants[0]) {
			grants = nil
		}
		if !v.step(ctx) {
			return false
		}
		for j := range grants {
			if !v.step(ctx) || !yield(key, &grants[j]) {
				return false
			}
		}
	}
	return true
}

// step reports whether the request lasts. It checks that now and then.
func (v *visitor) step(ctx context.Context) bool {
	v.steps++
	return v.steps%stepsPerCheck != 0 || ctx.Err() == nil
}

// seen is a set of pointers. It allocates only if it has many.
type seen[T any] struct {
	first [16]*T
	count int
	more  map[*T]struct{}
}

// add adds a pointer, and reports whether it is new.
func (s *seen[T]) add(p *T) bool {
	if slices.Contains(s.first[:min(s.count, len(s.first))], p) {
		return false
	}
	if s.count < len(s.first) {
		s.first[s.count] = p
		s.count++
		return true
	}
	if _, ok := s.more[p]; ok {
		return false
	}
	if s.more == nil {
		s.more = map[*T]struct{}{}
	}
	s.more[p] = struct{}{}
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
func (x *Index) failures(ctx context.Context, user *auth.User, namespace string) error {
	var errs []error
	named := map[string]bool{}
	x.visit(ctx, user, namespace, func(_ subject, g *grant) bool {
		if _, ok := x.rules(g.role, g.namespace); ok {
			return true
		}
		err := MissingRole(g.role)
		switch {
		case named[err.Error()]:
		case len(errs) == maxFailures:
			errs = append(errs, errors.New("and others"))
			return false
		default:
			named[err.Error()] = true
			errs = append(errs, err)
		}
		return true
	})
	if len(errs) == 0 { // ctx has ended
		return ctx.Err()
	}
	return utilerrors.NewAggregate(errs)
}

// MissingRole returns Kubernetes' error of a binding whose role does not exist, with a shortened name.
func MissingRole(ref rbacv1.RoleRef) error {
	switch ref.Kind {
	case "Role":
		return apierrors.NewNotFound(rbacv1.Resource("role"), shortened(ref.Name))
	case "ClusterRole":
		return apierrors.NewNotFound(rbacv1.Resource("clusterrole"), shortened(ref.Name))
	}
	return fmt.Errorf("unsupported role reference kind: %q", shortened(ref.Kind))
}

// maxName bounds a name in a text, in bytes. The names of roles and bindings have no limit of their own.
const maxName = 256

// shortened returns the start of a name that is too long for a text.
func shortened(name string) string {
	if len(name) <= maxName {
		return name
	}
	end := maxName - len("...")
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "..."
}
