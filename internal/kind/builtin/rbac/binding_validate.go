package rbac

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// validateBinding validates a binding; old is nil for a create. The role of a binding cannot be changed.
func validateBinding(b, old *binding, namespaced bool) field.ErrorList {
	r, path := report{namespaced: namespaced}, field.NewPath("roleRef")
	r.checkRoleRef(&b.roleRef, path)
	if b.roleRef.Name == "" && old != nil {
		// The declarative rule applies only to creates: on an update, the reference is unchanged or may not change.
		r.add(field.Required(path.Child("name"), ""))
	}
	r.checkSubjects(b.subjects, old == nil || !slices.Equal(b.subjects, old.subjects))
	switch {
	case old != nil && b.roleRef != old.roleRef:
		r.add(field.Invalid(path, podspec.Layout(b.roleRef), apivalidation.FieldImmutableErrorMsg))
	case old == nil && b.roleRef.Name == "":
		r.declarations = append(r.declarations, field.Required(path.Child("name"), ""))
	}
	return r.errors()
}

// checkRoleRef validates the reference to the role. It does not report a missing name. A binding in a namespace may
// refer to a role there or to a cluster role.
func (r *report) checkRoleRef(ref *rbacv1.RoleRef, path *field.Path) {
	r.add(fieldcheck.OneOf(path.Child("apiGroup"), ref.APIGroup, rbacv1.GroupName)...)
	roles := []string{"ClusterRole"}
	if r.namespaced {
		roles = []string{"Role", "ClusterRole"}
	}
	r.add(fieldcheck.OneOf(path.Child("kind"), ref.Kind, roles...)...)
	r.add(fieldcheck.Invalid(path.Child("name"), ref.Name, content.IsPathSegmentName(ref.Name))...)
}

// checkSubjects validates the subjects of a binding. changed reports whether the write creates or changes them.
func (r *report) checkSubjects(subjects []rbacv1.Subject, changed bool) {
	path := field.NewPath("subjects")
	for i := range subjects {
		if r.full() {
			return
		}
		if subjects[i].Name == "" {
			r.require(element{path, i}, "name", "", changed)
		}
		r.checkSubject(&subjects[i], element{path, i})
	}
}

// checkSubject validates a subject. It does not report a missing name; users and groups may have any other name.
func (r *report) checkSubject(s *rbacv1.Subject, at element) {
	switch s.Kind {
	case rbacv1.UserKind, rbacv1.GroupKind:
		if s.APIGroup != rbacv1.GroupName {
			r.add(field.NotSupported(at.child("apiGroup"), s.APIGroup, []string{rbacv1.GroupName}))
		}
	case rbacv1.ServiceAccountKind:
		if s.Name != "" {
			r.add(fieldcheck.ObjectName(at.child("name"), s.Name, false)...)
		}
		if s.APIGroup != "" {
			r.add(field.NotSupported(at.child("apiGroup"), s.APIGroup, []string{""}))
		}
		if !r.namespaced && s.Namespace == "" {
			r.add(field.Required(at.child("namespace"), ""))
		}
	default:
		r.add(field.NotSupported(at.child("kind"), s.Kind,
			[]string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}))
	}
}
