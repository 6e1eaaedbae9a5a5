package rbac

import (
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

func roleBindingKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, info("RoleBinding", true), kind.Rules[*rbacv1.RoleBinding]{
		Default: func(b *rbacv1.RoleBinding) { defaultBinding(&b.RoleRef, b.Subjects) },
		Validate: func(b, old *rbacv1.RoleBinding, _ string) field.ErrorList {
			var before *binding
			if old != nil {
				before = &binding{old.RoleRef, old.Subjects}
			}
			return append(fieldcheck.Finalizers(b), validateBinding(&binding{b.RoleRef, b.Subjects}, before, true)...)
		},
		Columns: bindingColumns("roleBinding", rbacv1beta1.RoleBinding{}.SwaggerDoc()["roleRef"]),
		Row: func(b *rbacv1.RoleBinding, now time.Time) []any {
			return bindingRow(&b.ObjectMeta, &binding{b.RoleRef, b.Subjects}, now)
		},
	})
}

func clusterRoleBindingKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, info("ClusterRoleBinding", false), kind.Rules[*rbacv1.ClusterRoleBinding]{
		Default: func(b *rbacv1.ClusterRoleBinding) { defaultBinding(&b.RoleRef, b.Subjects) },
		Validate: func(b, old *rbacv1.ClusterRoleBinding, _ string) field.ErrorList {
			var before *binding
			if old != nil {
				before = &binding{old.RoleRef, old.Subjects}
			}
			return append(fieldcheck.Finalizers(b), validateBinding(&binding{b.RoleRef, b.Subjects}, before, false)...)
		},
		Columns: bindingColumns("clusterRoleBinding", rbacv1beta1.ClusterRoleBinding{}.SwaggerDoc()["roleRef"]),
		Row: func(b *rbacv1.ClusterRoleBinding, now time.Time) []any {
			return bindingRow(&b.ObjectMeta, &binding{b.RoleRef, b.Subjects}, now)
		},
	})
}

// binding has the fields that both kinds of bindings share.
type binding struct {
	roleRef  rbacv1.RoleRef
	subjects []rbacv1.Subject
}

// defaultBinding sets the API groups of the role and of users and groups, which are not API objects.
func defaultBinding(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	if ref.APIGroup == "" {
		ref.APIGroup = rbacv1.GroupName
	}
	for i := range subjects {
		s := &subjects[i]
		if s.APIGroup == "" && (s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind) {
			s.APIGroup = rbacv1.GroupName
		}
	}
}

// bindingColumns returns the columns of a kind of bindings. role describes the column of the role; Kubernetes takes
// that text from the documentation of v1beta1.
func bindingColumns(name, role string) []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		kind.NameColumn,
		{Name: "Role", Type: "string", Description: role},
		kind.AgeColumn,
		{Name: "Users", Type: "string", Priority: 1, Description: "Users in the " + name},
		{Name: "Groups", Type: "string", Priority: 1, Description: "Groups in the " + name},
		{Name: "ServiceAccounts", Type: "string", Priority: 1, Description: "ServiceAccounts in the " + name},
	}
}

func bindingRow(meta *metav1.ObjectMeta, b *binding, now time.Time) []any {
	var users, groups, accounts []string
	for _, s := range b.subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return []any{meta.Name, b.roleRef.Kind + "/" + b.roleRef.Name, kind.Age(meta.CreationTimestamp.Time, now),
		strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", ")}
}
