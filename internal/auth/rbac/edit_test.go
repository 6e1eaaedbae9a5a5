package rbac

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func testBinding(name, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name},
		RoleRef:  rbacv1.RoleRef{Kind: "Role", Name: role},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: "jane"}, {Kind: "ServiceAccount", Name: "bot"}}}
}

// A binding that is set again with the same role and subjects changes no grants.
func TestUnchangedBinding(t *testing.T) {
	t.Parallel()
	e := (&Index{}).Edit()
	e.SetRoleBinding(testBinding("a", "r"))
	x := e.Index()
	e = x.Edit()
	e.SetRoleBinding(testBinding("a", "r"))
	if n := len(e.edits["n"].changed); n != 0 {
		t.Errorf("the grants of %d subjects change", n)
	}
	next := testBinding("a", "other")
	e.SetRoleBinding(next)
	if n := len(e.edits["n"].changed); n != 2 {
		t.Errorf("with another role, the grants of %d subjects change, want 2", n)
	}
	e = e.Index().Edit()
	next.Subjects[1] = rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:n:bot"} // only the reason differs
	e.SetRoleBinding(next)
	grants, _ := e.Index().scope("n").grants.get(subject{name: "system:serviceaccount:n:bot"})
	if len(grants) != 1 || grants[0].account || grants[0].role.Name != "other" {
		t.Errorf("the grants are %+v", grants)
	}
}

// An Index keeps nothing of a namespace whose roles and bindings were removed, in one step or in many.
func TestRemovedNamespace(t *testing.T) {
	t.Parallel()
	for _, steps := range []int{1, 10, 100} {
		x, count := &Index{}, 100
		for _, remove := range []bool{false, true} {
			for step := range steps {
				e := x.Edit()
				for i := step; i < count; i += steps {
					if name := fmt.Sprint(i); remove {
						e.RemoveRole("n", name)
						e.RemoveBinding("n", name)
					} else {
						e.SetRole(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}})
						e.SetRoleBinding(testBinding(name, name))
					}
				}
				x = e.Index()
			}
			if empty := x.scopes.empty(); empty != remove || empty != (x.scope("n") == nil) {
				t.Errorf("in %d steps, removed=%v: empty=%v, the namespace is %+v", steps, remove, empty, x.scope("n"))
			}
		}
		if len(x.scopes.base)+len(x.scopes.changed) != 0 {
			t.Errorf("in %d steps: entries remain: %v", steps, x.scopes)
		}
	}
}
