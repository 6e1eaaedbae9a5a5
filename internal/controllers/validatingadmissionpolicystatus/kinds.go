package validatingadmissionpolicystatus

import (
	"cmp"
	"context"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/discovery"
)

const (
	// maxKindsPerRule is the number of kinds of one rule after which Kubernetes' controller reads no further.
	maxKindsPerRule = 10
	// maxLookups limits the product of the numbers of groups, versions and resources in the rules.
	maxLookups = 100_000
)

// kinds finds the kinds of resources by their plural and singular names. Without a group, a name stands for the
// resources of all groups, as for Kubernetes' RESTMapper.
type kinds struct {
	byResource              map[schema.GroupVersionResource][]schema.GroupVersionKind
	groups, versions, names map[string]bool
	groupVersions           map[schema.GroupVersion]bool
}

func fetchKinds(ctx context.Context, c *client.Client) (kinds, error) {
	found, err := discovery.Versions(ctx, c)
	if err != nil {
		return kinds{}, err
	}
	return newKinds(found), nil
}

func newKinds(served []discovery.Version) kinds {
	k := kinds{map[schema.GroupVersionResource][]schema.GroupVersionKind{}, map[string]bool{}, map[string]bool{},
		map[string]bool{}, map[schema.GroupVersion]bool{}}
	for _, r := range served {
		for _, group := range []string{r.Group, ""} {
			k.groups[group], k.versions[r.Version] = true, true
			k.groupVersions[schema.GroupVersion{Group: group, Version: r.Version}] = true
			for _, name := range []string{r.Resource, r.Singular} {
				k.names[name] = true
				k.add(schema.GroupVersionResource{Group: group, Version: r.Version, Resource: name},
					r.GroupVersion().WithKind(r.Kind))
			}
		}
	}
	return k
}

func (k kinds) add(resource schema.GroupVersionResource, kind schema.GroupVersionKind) {
	if !slices.Contains(k.byResource[resource], kind) {
		k.byResource[resource] = append(k.byResource[resource], kind)
	}
}

// matched returns the sorted kinds that rules name. It ignores rules with a wildcard for the group or version,
// subresources, and wildcards for resources.
func (k kinds) matched(rules []admissionv1.NamedRuleWithOperations) []schema.GroupVersionKind {
	found, lookups := map[schema.GroupVersionKind]bool{}, 0
	for i := range rules {
		rule := &rules[i]
		if slices.ContainsFunc(rule.APIGroups, wildcard) || slices.ContainsFunc(rule.APIVersions, wildcard) {
			continue
		}
		count, resources := 0, served(lower(rule.Resources), k.names)
		for _, group := range served(rule.APIGroups, k.groups) {
			for _, version := range served(rule.APIVersions, k.versions) {
				gv := schema.GroupVersion{Group: group, Version: version}
				if !k.groupVersions[gv] {
					continue
				}
				for _, resource := range resources {
					if lookups++; lookups > maxLookups {
						return sorted(found)
					}
					for _, kind := range k.byResource[gv.WithResource(resource)] {
						found[kind] = true
						if count++; count == maxKindsPerRule {
							return sorted(found)
						}
					}
				}
			}
		}
	}
	return sorted(found)
}

func wildcard(name string) bool { return strings.Contains(name, "*") }

func lower(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strings.ToLower(name)
	}
	return all
}

// served returns the names in known, sorted and each once.
func served(names []string, known map[string]bool) []string {
	all := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !known[name] })
	slices.Sort(all)
	return slices.Compact(all)
}

func sorted(set map[schema.GroupVersionKind]bool) []schema.GroupVersionKind {
	all := make([]schema.GroupVersionKind, 0, len(set))
	for kind := range set {
		all = append(all, kind)
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version),
			strings.Compare(a.Kind, b.Kind))
	})
	return all
}

// paramKind returns the kind of the parameters, which is empty if there is none or its apiVersion is invalid.
func paramKind(policy *admissionv1.ValidatingAdmissionPolicy) schema.GroupVersionKind {
	kind := policy.Spec.ParamKind
	if kind == nil {
		return schema.GroupVersionKind{}
	}
	gv, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return schema.GroupVersionKind{}
	}
	return gv.WithKind(kind.Kind)
}
