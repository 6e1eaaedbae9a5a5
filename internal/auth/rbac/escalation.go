package rbac

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bowline-dev/bowline/internal/auth"
)

// Everything are the rules of the Kubernetes role cluster-admin.
func Everything() []rbacv1.PolicyRule {
	all := []string{"*"}
	return []rbacv1.PolicyRule{
		{Verbs: all, APIGroups: all, Resources: all}, {Verbs: all, NonResourceURLs: all},
	}
}

const (
	// maxComparisons bounds the comparisons of strings in one CheckGrant, which take a tenth of a second. Rules of a
	// few kilobytes can stand for billions of rights.
	maxComparisons = 8 << 20
	// maxMissing bounds the missing rights in an error, in bytes.
	maxMissing = 64 << 10
)

// CheckGrant returns an error with Kubernetes' text unless the rights that a user holds cover rules that the user
// grants. unlisted is an error of the listing of these rights, or nil. Unlike Kubernetes, it names only the first
// missing rights if there are very many, and rejects rules that would take very long to compare.
func CheckGrant(user *auth.User, held auth.Rules, unlisted error, granted []rbacv1.PolicyRule) error {
	c := comparison{verbs: map[tuple][]string{}}
	resources := make([]*auth.ResourceRule, len(held.Resources))
	for i := range held.Resources {
		resources[i] = &held.Resources[i]
	}
	for i := range granted {
		rule := &granted[i]
		if !c.compareResources(resources, rule) || !c.comparePaths(held.Paths, rule) {
			break
		}
	}
	missing := c.missing()
	switch {
	case len(missing) > 0:
	case c.comparisons >= maxComparisons:
		return fmt.Errorf("user %q is attempting to grant more RBAC permissions than can be compared with those "+
			"currently held: use fewer groups, resources, verbs or names in a rule", user.Name)
	default:
		return nil
	}
	text := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", user.Name,
		user.Groups, strings.Join(missing, "\n"))
	if unlisted != nil {
		text += fmt.Sprintf("; resolution errors: %v", []error{unlisted})
	}
	return errors.New(text)
}

// comparison collects the rights that are granted but not held.
type comparison struct {
	comparisons int
	// verbs are the missing ones, by the other parts of the right.
	verbs map[tuple][]string
	size  int // of the texts in verbs, in bytes
	level [4][]*auth.ResourceRule
}

// tuple is a right without its verb: one for a path, or one for a resource with at most one name.
type tuple struct {
	path            string
	isPath          bool
	group, resource string
	hasName         bool
	name            string
}

// compareResources compares the resources of a granted rule with the rights held: one group, resource, verb and name at
// a time. It reports whether to continue.
func (c *comparison) compareResources(held []*auth.ResourceRule, rule *rbacv1.PolicyRule) bool {
	for _, group := range rule.APIGroups {
		inGroup := c.filter(0, held, func(r *auth.ResourceRule) bool { return c.has(r.Groups, group) })
		for _, resource := range rule.Resources {
			ofResource := c.filter(1, inGroup,
				func(r *auth.ResourceRule) bool { return c.hasResource(r.Resources, resource) })
			for _, verb := range rule.Verbs {
				withVerb := c.filter(2, ofResource, func(r *auth.ResourceRule) bool { return c.has(r.Verbs, verb) })
				if !c.compareNames(withVerb, tuple{group: group, resource: resource}, verb, rule.ResourceNames) {
					return false
				}
			}
		}
	}
	return true
}

// compareNames compares the names of a granted rule, or, if there are none, the right for all names.
func (c *comparison) compareNames(held []*auth.ResourceRule, right tuple, verb string, names []string) bool {
	if len(names) == 0 {
		c.comparisons += len(held)
		covered := slices.ContainsFunc(held, func(r *auth.ResourceRule) bool { return len(r.Names) == 0 })
		return (covered || c.miss(right, verb)) && c.comparisons < maxComparisons
	}
	for _, name := range names {
		right.hasName, right.name = true, name
		covering := c.filter(3, held,
			func(r *auth.ResourceRule) bool { return len(r.Names) == 0 || c.has(r.Names, name) })
		if len(covering) == 0 && !c.miss(right, verb) || c.comparisons >= maxComparisons {
			return false
		}
	}
	return true
}

// filter returns the rules that match. It uses the same memory for each call with a level.
func (c *comparison) filter(level int, rules []*auth.ResourceRule,
	matches func(*auth.ResourceRule) bool) []*auth.ResourceRule {
	found := c.level[level][:0]
	for _, r := range rules {
		if c.comparisons >= maxComparisons {
			break
		}
		if matches(r) {
			found = append(found, r)
		}
	}
	c.comparisons += 1 + len(rules)
	c.level[level] = found
	return found
}

func (c *comparison) has(list []string, value string) bool {
	c.comparisons += len(list)
	return hasOrAll(list, value)
}

func (c *comparison) hasResource(list []string, value string) bool {
	if c.has(list, value) {
		return true
	}
	_, sub, ok := strings.Cut(value, "/")
	return ok && slices.Contains(list, "*/"+sub)
}

// comparePaths compares the paths of a granted rule with the rights held. It reports whether to continue.
func (c *comparison) comparePaths(held []auth.PathRule, rule *rbacv1.PolicyRule) bool {
	for _, path := range rule.NonResourceURLs {
		for _, verb := range rule.Verbs {
			covered := slices.ContainsFunc(held, func(r auth.PathRule) bool {
				c.comparisons += 1 + len(r.Verbs) + len(r.Paths)
				return hasOrAll(r.Verbs, verb) &&
					slices.ContainsFunc(r.Paths, func(pattern string) bool { return coversPath(pattern, path) })
			})
			c.comparisons++
			if c.comparisons >= maxComparisons || !covered && !c.miss(tuple{isPath: true, path: path}, verb) {
				return false
			}
		}
	}
	return true
}

// miss records a missing right, and reports whether there is room for more.
func (c *comparison) miss(right tuple, verb string) bool {
	if c.size += len(verb) + len(`"" `); c.verbs[right] == nil {
		c.size += len(right.path) + len(right.group) + len(right.resource) + len(right.name) + 64
	}
	c.verbs[right] = append(c.verbs[right], verb)
	return c.size < maxMissing
}

// missing describes the missing rights, sorted. The verbs of a resource are in one text, those of a path are not.
func (c *comparison) missing() []string {
	texts := map[string]bool{}
	for right, verbs := range c.verbs {
		switch {
		case right.isPath:
			for _, verb := range verbs {
				texts[fmt.Sprintf("{NonResourceURLs:[%q], Verbs:[%q]}", right.path, verb)] = true
			}
		case right.hasName:
			texts[fmt.Sprintf("{APIGroups:[%q], Resources:[%q], ResourceNames:[%q], Verbs:%q}", right.group, right.resource,
				right.name, verbs)] = true
		default:
			texts[fmt.Sprintf("{APIGroups:[%q], Resources:[%q], Verbs:%q}", right.group, right.resource, verbs)] = true
		}
	}
	sorted := slices.Sorted(maps.Keys(texts))
	if len(sorted) > 0 && (c.size >= maxMissing || c.comparisons >= maxComparisons) {
		sorted = append(sorted, "...")
	}
	return sorted
}
