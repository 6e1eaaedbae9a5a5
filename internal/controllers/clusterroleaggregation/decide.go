package clusterroleaggregation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// maxSelectors is the number of selectors of a role that are evaluated. The time of a reconciliation grows with the
// product of the numbers of selectors and roles.
const maxSelectors = 1000

// maxRules is the number of rules that a role can aggregate: an object with more values than a request may have could
// not be written.
const maxRules = 10_000

// aggregate returns the rules of a role with an aggregation rule: for each selector, the rules of the other roles that
// it matches, sorted by the names of these roles. Each rule is returned once. It does not modify all.
func aggregate(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	selectors := role.AggregationRule.ClusterRoleSelectors
	if len(selectors) > maxSelectors {
		return nil, fmt.Errorf("the ClusterRole %s has %d selectors: at most %d are supported", role.Name,
			len(selectors), maxSelectors)
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(r *rbacv1.ClusterRole) bool { return r.Name == role.Name })
	slices.SortFunc(rest, func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	union := ruleSet{present: map[string]bool{}}
	for i := range selectors {
		selector, err := metav1.LabelSelectorAsSelector(&selectors[i])
		if err != nil {
			return nil, fmt.Errorf("the ClusterRole %s has an invalid selector: %w", role.Name, err)
		}
		// The rules of a role are added once, even if several selectors match it.
		rest = slices.DeleteFunc(rest, func(r *rbacv1.ClusterRole) bool {
			if !selector.Matches(labels.Set(r.Labels)) {
				return false
			}
			if len(union.rules) <= maxRules {
				union.add(r.Rules)
			}
			return true
		})
		if len(union.rules) > maxRules {
			return nil, fmt.Errorf("the ClusterRole %s aggregates more than %d rules", role.Name, maxRules)
		}
	}
	return union.rules, nil
}

// ruleSet is a list of rules without duplicates.
type ruleSet struct {
	rules   []rbacv1.PolicyRule
	present map[string]bool // by ruleKey
}

func (s *ruleSet) add(rules []rbacv1.PolicyRule) {
	for i := range rules {
		if key := ruleKey(&rules[i]); !s.present[key] {
			s.present[key] = true
			s.rules = append(s.rules, rules[i])
		}
	}
}

// ruleKey encodes a rule. Two rules have the same key if their fields are equal, in the same order; nil lists equal
// empty ones.
func ruleKey(rule *rbacv1.PolicyRule) string {
	var key []byte
	for _, list := range [][]string{rule.Verbs, rule.APIGroups, rule.Resources, rule.ResourceNames,
		rule.NonResourceURLs} {
		key = append(strconv.AppendInt(key, int64(len(list)), 10), ':')
		for _, text := range list {
			key = append(strconv.AppendInt(key, int64(len(text)), 10), ':')
			key = append(key, text...)
		}
	}
	return string(key)
}

// decide returns the actions that give a role its rules. While wait is positive, rules that another client has written
// are not overwritten.
func decide(role *rbacv1.ClusterRole, rules []rbacv1.PolicyRule, wait time.Duration) []action.Action {
	switch {
	case equality.Semantic.DeepEqual(role.Rules, rules):
		return nil
	case wait > 0:
		return []action.Action{action.Requeue{After: wait}}
	}
	return []action.Action{applyRules{role, rules}}
}
