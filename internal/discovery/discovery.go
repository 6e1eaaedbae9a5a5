// Package discovery lists the resources that a server serves, each in its preferred version. It is used by
// controllers and commands that work on every kind, such as the garbage collector.
package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// Resource is a resource that the server serves.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	Verbs      []string
}

// Serves reports whether the resource supports a verb.
func (r Resource) Serves(verb string) bool { return slices.Contains(r.Verbs, verb) }

// Resources returns every resource in its preferred version. For each group that could not be discovered it
// returns an error in failures, together with the resources of the others.
func Resources(ctx context.Context, c *client.Client) (found []Resource, failures []error) {
	known := map[schema.GroupResource]bool{}
	for _, path := range []string{"/api", "/apis"} {
		groups, err := fetchGroups(ctx, c, path)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		for _, group := range groups.Items {
			for _, version := range group.Versions {
				if version.Freshness == apidiscovery.DiscoveryFreshnessStale {
					failures = append(failures,
						fmt.Errorf("%s/%s: stale GroupVersion discovery", group.Name, version.Version))
				}
				found = appendNew(found, known, group.Name, version)
			}
		}
	}
	return found, failures
}

// fetchGroups reads the aggregated discovery document at a path.
func fetchGroups(ctx context.Context, c *client.Client, path string) (*apidiscovery.APIGroupDiscoveryList, error) {
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	result := c.REST().Get().AbsPath(path).SetHeader("Accept", aggregated).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	body, err := result.Raw()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	groups := &apidiscovery.APIGroupDiscoveryList{}
	if err := json.Unmarshal(body, groups); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if groups.Kind != "APIGroupDiscoveryList" {
		return nil, fmt.Errorf("%s: the server has no aggregated discovery: it returned a %s", path, groups.Kind)
	}
	return groups, nil
}

// appendNew adds the resources of a version that earlier versions of the group do not have. known holds the resources
// in found.
func appendNew(found []Resource, known map[schema.GroupResource]bool, group string,
	version apidiscovery.APIVersionDiscovery) []Resource {
	for _, r := range version.Resources {
		resource := schema.GroupVersionResource{Group: group, Version: version.Version, Resource: r.Resource}
		if known[resource.GroupResource()] {
			continue
		}
		known[resource.GroupResource()] = true
		one := Resource{GroupVersionResource: resource, Namespaced: r.Scope == apidiscovery.ScopeNamespace,
			Verbs: r.Verbs}
		if r.ResponseKind != nil {
			one.Kind = r.ResponseKind.Kind
		}
		found = append(found, one)
	}
	return found
}
