package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bowline-dev/bowline/internal/auth"
)

// allows reports whether a rule allows a request.
func allows(rule *rbacv1.PolicyRule, a *auth.Attributes) bool {
	if !hasOrAll(rule.Verbs, a.Verb) {
		return false
	}
	if !a.IsResource {
		return slices.ContainsFunc(rule.NonResourceURLs,
			func(pattern string) bool { return coversPath(pattern, a.Path) })
	}
	return hasOrAll(rule.APIGroups, a.Group) && matchesResource(rule.Resources, a.Resource, a.Subresource) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.Name))
}

// hasOrAll reports whether a list has a value, or "*", which stands for all values.
func hasOrAll(list []string, value string) bool {
	for _, s := range list {
		if s == "*" || s == value {
			return true
		}
	}
	return false
}

// matchesResource reports whether a list of resources has a resource or, if sub is not empty, a subresource. "*" stands
// for all resources and their subresources, "*/scale" for the subresource scale of all resources.
func matchesResource(list []string, resource, sub string) bool {
	for _, s := range list {
		if s == "*" {
			return true
		}
		if sub == "" {
			if s == resource {
				return true
			}
			continue
		}
		if parent, ok := strings.CutSuffix(s, sub); ok {
			if parent, ok = strings.CutSuffix(parent, "/"); ok && (parent == resource || parent == "*") {
				return true
			}
		}
	}
	return false
}

// coversPath reports whether a path of a rule, which may end in "*", has another one.
func coversPath(pattern, path string) bool {
	return pattern == path || strings.HasSuffix(pattern, "*") && strings.HasPrefix(path, strings.TrimRight(pattern, "*"))
}
