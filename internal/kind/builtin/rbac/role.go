package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

func roleKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, info("Role", true), kind.Rules[*rbacv1.Role]{
		Validate: fieldcheck.WithFinalizers(validateRole)})
}

// clusterRoleKind returns the kind of cluster roles. The controller clusterroleaggregation writes the rules of those
// with an aggregationRule.
func clusterRoleKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, info("ClusterRole", false),
		kind.Rules[*rbacv1.ClusterRole]{Validate: fieldcheck.WithFinalizers(validateClusterRole)})
}

func validateRole(role, old *rbacv1.Role, _ string) field.ErrorList {
	r := report{namespaced: true}
	if old == nil {
		r.checkRules(role.Rules, true)
	} else {
		r.checkRules(role.Rules, !equalRules(role.Rules, old.Rules))
	}
	return r.errors()
}

func validateClusterRole(role, old *rbacv1.ClusterRole, _ string) field.ErrorList {
	r := report{}
	if old == nil {
		r.checkRules(role.Rules, true)
		r.checkAggregation(role.AggregationRule, nil)
	} else {
		r.checkRules(role.Rules, !equalRules(role.Rules, old.Rules))
		r.checkAggregation(role.AggregationRule, old.AggregationRule)
	}
	return r.errors()
}
