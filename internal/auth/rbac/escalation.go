package rbac

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bowline-dev/bowline/internal/auth"
)

// Everything returns the rules of the Kubernetes role cluster-admin.
func Everything() []rbacv1.PolicyRule {
	all := []string{"*"}
	return []rbacv1.PolicyRule{
		{Verbs: all, APIGroups: all, Resources: all}, {Verbs: all, NonResourceURLs: all},
	}
}

const (
	// maxComparisons bounds the comparisons of strings in one CheckGrant, which take a tenth of a second. One of long
	// strings counts for several. Rules of a few kilobytes can stand for billions of rights.
	maxComparisons = 8 << 20
	// maxMissing bounds the missing rights in an error, in bytes.
	maxMissing = 64 << 10
	// bytesPerComparison is the length of equally long strings whose comparison counts for two.
	bytesPerComparison = 64
	// manyNames is the number of names, of a granted rule and of a rule held, from which a set is faster than the list.
	manyNames = 16
	// comparisonsPerEntry is what an entry of such a set counts.
	comparisonsPerEntry = 8
)

// CheckGrant returns an error with Kubernetes' text unless the rights that a user holds cover rules that the user
// grants. unlisted is an error of the listing of these rights, or nil. Unlike Kubernetes, it names only the first
// missing rights if there are very many, and rejects rules that would take very long to compare.
func CheckGrant(user *auth.User, held auth.Rules, unlisted error, granted []rbacv1.PolicyRule) error {
	c := comparison{verbs: map[tuple][]string{}, names: map[*auth.ResourceRule]map[string]bool{}}
	resources := make([]*auth.ResourceRule, len(held.Resources))
	for i := range held.Resources {
		resources[i] = &held.Resources[i]
	}
	paths := make([]*auth.PathRule, len(held.Paths))
	for i := range held.Paths {
		paths[i] = &held.Paths[i]
	}
	for i := range granted {
		rule := &granted[i]
		if !c.compareResources(resources, rule) || !c.comparePaths(paths, rule) {
			break
		}
	}
	missing := c.missing()
	switch {
	case len(missing) > 0:
	case c.exhausted():
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

	resources [4][]*auth.ResourceRule // memory of matching
	paths     []*auth.PathRule
	names     map[*auth.ResourceRule]map[string]bool // sets of the names of rules that are held
}

// tuple is a right without its verb: one for a path, or one for a resource with at most one name.
type tuple struct {
	path            string
	isPath          bool
	group, resource string
	hasName         bool
	name            string
}

// exhausted reports whether there were too many comparisons. The result of the last one is then not known.
func (c *comparison) exhausted() bool { return c.comparisons >= maxComparisons }

// compareResources compares the resources of a granted rule with the rights held: one group, resource, verb and name at
// a time. It reports whether to continue.
func (c *comparison) compareResources(held []*auth.ResourceRule, rule *rbacv1.PolicyRule) bool {
	for _, group := range rule.APIGroups {
		inGroup := matching(c, &c.resources[0], held,
			func(r *auth.ResourceRule) bool { return c.hasOrAll(r.Groups, group) })
		for _, resource := range rule.Resources {
			everywhere := "" // the pattern of a subresource of all resources
			if _, sub, ok := strings.Cut(resource, "/"); ok {
				everywhere = "*/" + sub
				c.comparisons += len(everywhere) / bytesPerComparison
			}
			ofResource := matching(c, &c.resources[1], inGroup, func(r *auth.ResourceRule) bool {
				return c.hasOrAll(r.Resources, resource) || everywhere != "" && c.has(r.Resources, everywhere)
			})
			for _, verb := range rule.Verbs {
				withVerb := matching(c, &c.resources[2], ofResource,
					func(r *auth.ResourceRule) bool { return c.hasOrAll(r.Verbs, verb) })
				if !c.compareNames(withVerb, tuple{group: group, resource: resource}, verb, rule.ResourceNames) {
					return false
				}
			}
			if c.exhausted() {
				return false
			}
		}
	}
	return !c.exhausted()
}

// compareNames compares the names of a granted rule, or, if there are none, the right for all names. "*" is a name like
// others.
func (c *comparison) compareNames(held []*auth.ResourceRule, right tuple, verb string, names []string) bool {
	if len(names) == 0 {
		c.comparisons += len(held)
		covered := slices.ContainsFunc(held, func(r *auth.ResourceRule) bool { return len(r.Names) == 0 })
		return !c.exhausted() && (covered || c.miss(right, verb))
	}
	for _, name := range names {
		covering := matching(c, &c.resources[3], held, func(r *auth.ResourceRule) bool {
			if len(names) >= manyNames && len(r.Names) >= manyNames {
				return c.inSet(r, name)
			}
			return len(r.Names) == 0 || c.has(r.Names, name)
		})
		if c.exhausted() {
			return false
		}
		right.hasName, right.name = true, name
		if len(covering) == 0 && !c.miss(right, verb) {
			return false
		}
	}
	return true
}

// inSet reports whether a rule has a name. It makes a set of the rule's names at the first call.
func (c *comparison) inSet(rule *auth.ResourceRule, name string) bool {
	set, ok := c.names[rule]
	if !ok {
		set = map[string]bool{}
		for _, n := range rule.Names {
			if c.comparisons += comparisonsPerEntry + len(n)/bytesPerComparison; c.exhausted() {
				break
			}
			set[n] = true
		}
		c.names[rule] = set
	}
	c.comparisons += 1 + len(name)/bytesPerComparison
	return set[name]
}

// matching returns the rules that match, in the memory of the previous call with it. It returns fewer if the
// comparisons are exhausted.
func matching[T any](c *comparison, memory *[]*T, rules []*T, matches func(*T) bool) []*T {
	found := (*memory)[:0]
	c.comparisons += 1 + len(rules)
	for _, r := range rules {
		if c.exhausted() {
			break
		}
		if matches(r) {
			found = append(found, r)
		}
	}
	*memory = found
	return found
}

// has reports whether a list has a value.
func (c *comparison) has(list []string, value string) bool {
	for _, s := range list {
		if c.equal(s, value) {
			return true
		}
	}
	return false
}

// hasOrAll reports whether a list has a value, or "*", which stands for all values.
func (c *comparison) hasOrAll(list []string, value string) bool {
	for _, s := range list {
		if c.equal(s, value) || s == "*" {
			return true
		}
	}
	return false
}

func (c *comparison) equal(a, b string) bool {
	if c.comparisons++; len(a) != len(b) {
		return false
	}
	c.comparisons += len(a) / bytesPerComparison
	return a == b
}

// comparePaths compares the paths of a granted rule with the rights held. It reports whether to continue.
func (c *comparison) comparePaths(held []*auth.PathRule, rule *rbacv1.PolicyRule) bool {
	for _, path := range rule.NonResourceURLs {
		ofPath := matching(c, &c.paths, held, func(r *auth.PathRule) bool {
			return slices.ContainsFunc(r.Paths, func(pattern string) bool {
				c.comparisons += 1 + len(pattern)/bytesPerComparison
				return coversPath(pattern, path)
			})
		})
		for _, verb := range rule.Verbs {
			c.comparisons++
			covered := slices.ContainsFunc(ofPath, func(r *auth.PathRule) bool { return c.hasOrAll(r.Verbs, verb) })
			if c.exhausted() || !covered && !c.miss(tuple{isPath: true, path: path}, verb) {
				return false
			}
		}
	}
	return !c.exhausted()
}

// miss records a missing right with shortened parts, and reports whether there is room for more.
func (c *comparison) miss(right tuple, verb string) bool {
	verb = shortened(verb)
	right.path, right.group = shortened(right.path), shortened(right.group)
	right.resource, right.name = shortened(right.resource), shortened(right.name)
	c.size += len(strconv.Quote(verb)) + len(" ")
	if right.isPath || c.verbs[right] == nil { // a new text
		for _, part := range []string{right.path, right.group, right.resource, right.name} {
			c.size += len(strconv.Quote(part))
		}
		c.size += len("{APIGroups:[], Resources:[], ResourceNames:[], Verbs:[]}\n")
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
	if len(sorted) > 0 && (c.size >= maxMissing || c.exhausted()) {
		sorted = append(sorted, "...")
	}
	return sorted
}
