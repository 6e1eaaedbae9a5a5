package rbac

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Editor collects changes of an Index. It is not safe for concurrent use.
type Editor struct {
	scopes table[string, *scope]
	edits  map[string]*edit // by namespace
}

// edit is what changes in one scope.
type edit struct {
	scope                 *scope // a copy
	ownsRoles, ownsGrants bool   // false if the tables are still those of the previous Index
	// removed are bindings that grants may still have, and added are grants that they lack.
	removed map[*binding]bool
	added   map[subject][]grant
	changed map[subject]bool
}

// Edit returns an Editor of the objects of x, which does not change.
func (x *Index) Edit() *Editor { return &Editor{scopes: x.scopes, edits: map[string]*edit{}} }

// SetRole adds or replaces a role. The Index shares its rules.
func (e *Editor) SetRole(r *rbacv1.Role) { e.roles(r.Namespace).set(r.Name, r.Rules) }

// SetClusterRole adds or replaces a cluster role. The Index shares its rules.
func (e *Editor) SetClusterRole(r *rbacv1.ClusterRole) { e.roles("").set(r.Name, r.Rules) }

// SetRoleBinding adds or replaces a binding in a namespace.
func (e *Editor) SetRoleBinding(b *rbacv1.RoleBinding) {
	e.setBinding(b.Namespace, b.Name, b.RoleRef, b.Subjects)
}

// SetClusterRoleBinding adds or replaces a binding for the cluster.
func (e *Editor) SetClusterRoleBinding(b *rbacv1.ClusterRoleBinding) {
	e.setBinding("", b.Name, b.RoleRef, b.Subjects)
}

// RemoveRole removes a role, or, if the namespace is empty, a cluster role.
func (e *Editor) RemoveRole(namespace, name string) { e.roles(namespace).remove(name) }

// RemoveBinding removes a binding in a namespace, or, if it is empty, one for the cluster.
func (e *Editor) RemoveBinding(namespace, name string) {
	t := e.grants(namespace)
	if b, ok := t.scope.bindings.get(name); ok {
		t.scope.bindings.remove(name)
		t.removed[b] = true
		for _, s := range b.subjects {
			t.changed[s.subject] = true
		}
	}
}

// setBinding adds or replaces a binding. One with the same role and subjects stays, because the grants of each subject
// would otherwise be made again.
func (e *Editor) setBinding(namespace, name string, role rbacv1.RoleRef, subjects []rbacv1.Subject) {
	b := &binding{namespace: namespace, name: name, role: role, subjects: membersOf(subjects, namespace)}
	before, ok := e.in(namespace).scope.bindings.get(name)
	if ok && before.role == role && slices.Equal(before.subjects, b.subjects) {
		return
	}
	e.RemoveBinding(namespace, name)
	t := e.grants(namespace)
	t.scope.bindings.set(name, b)
	for _, m := range b.subjects {
		t.changed[m.subject] = true
		t.added[m.subject] = append(t.added[m.subject], grant{b, m.account})
	}
}

// membersOf returns the subjects of a binding, each once.
func membersOf(subjects []rbacv1.Subject, namespace string) (members []member) {
	has := make(map[subject]bool, len(subjects))
	for i := range subjects {
		if m, ok := memberOf(&subjects[i], namespace); ok && !has[m.subject] {
			has[m.subject] = true
			members = append(members, m)
		}
	}
	return members
}

// in returns the edit of a scope.
func (e *Editor) in(namespace string) *edit {
	t := e.edits[namespace]
	if t == nil {
		t = &edit{scope: &scope{}, removed: map[*binding]bool{}, added: map[subject][]grant{},
			changed: map[subject]bool{}}
		if before, ok := e.scopes.get(namespace); ok {
			*t.scope = *before
		}
		e.edits[namespace] = t
	}
	return t
}

// roles returns the roles of a scope, to change.
func (e *Editor) roles(namespace string) *table[string, []rbacv1.PolicyRule] {
	t := e.in(namespace)
	if !t.ownsRoles {
		t.scope.roles, t.ownsRoles = t.scope.roles.fork(), true
	}
	return &t.scope.roles
}

// grants returns the edit of a scope whose bindings and grants may be changed.
func (e *Editor) grants(namespace string) *edit {
	t := e.in(namespace)
	if !t.ownsGrants {
		t.scope.bindings, t.scope.grants, t.ownsGrants = t.scope.bindings.fork(), t.scope.grants.fork(), true
	}
	return t
}

// Index returns the changed Index. The Editor must not be used after that.
func (e *Editor) Index() *Index {
	scopes := e.scopes.fork()
	for namespace, t := range e.edits {
		for s := range t.changed {
			t.regrant(s)
		}
		t.scope.roles.compact()
		t.scope.bindings.compact()
		t.scope.grants.compact()
		if t.scope.roles.empty() && t.scope.bindings.empty() {
			scopes.remove(namespace)
		} else {
			scopes.set(namespace, t.scope)
		}
	}
	scopes.compact()
	return &Index{scopes: scopes}
}

// regrant updates the grants of a subject.
func (t *edit) regrant(s subject) {
	gone := func(g grant) bool { return t.removed[g.binding] }
	before, _ := t.scope.grants.get(s)
	added := slices.DeleteFunc(t.added[s], gone)
	next := make([]grant, 0, len(before)+len(added))
	for _, g := range before {
		if !gone(g) {
			next = append(next, g)
		}
	}
	next = append(next, added...)
	slices.SortFunc(next, func(a, b grant) int { return cmp.Compare(a.name, b.name) })
	if len(next) == 0 {
		t.scope.grants.remove(s)
	} else {
		t.scope.grants.set(s, next)
	}
}
