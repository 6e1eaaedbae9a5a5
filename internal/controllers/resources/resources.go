// Package resources is what a server has: every resource, in its preferred version, as the server's discovery tells. The
// controllers that know no kind, such as the garbage collector, learn from it what there is.
package resources

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	discovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// Resource is one that the server has.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	Verbs      []string
}

// Serves says whether the server answers a verb.
func (r Resource) Serves(verb string) bool { return slices.Contains(r.Verbs, verb) }

// Discover finds every resource, each in its preferred version. Groups that do not answer at the moment are failures; the rest
// is found none the less.
func Discover(ctx context.Context, c *client.Client) (found []Resource, failures []error) {
	for _, path := range []string{"/api", "/apis"} {
		groups, err := groupsAt(ctx, c, path)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		for _, group := range groups.Items {
			for _, version := range group.Versions {
				if version.Freshness == discovery.DiscoveryFreshnessStale {
					failures = append(failures, fmt.Errorf("%s/%s: stale GroupVersion discovery", group.Name, version.Version))
				}
				found = appendNew(found, group.Name, version)
			}
		}
	}
	return found, failures
}

// groupsAt reads the aggregated discovery at a path.
func groupsAt(ctx context.Context, c *client.Client, path string) (*discovery.APIGroupDiscoveryList, error) {
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	result := c.REST().Get().AbsPath(path).SetHeader("Accept", aggregated).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	body, err := result.Raw()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	groups := &discovery.APIGroupDiscoveryList{}
	if err := json.Unmarshal(body, groups); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if groups.Kind != "APIGroupDiscoveryList" {
		return nil, fmt.Errorf("%s: the server has no aggregated discovery, but a %s", path, groups.Kind)
	}
	return groups, nil
}

// appendNew adds the resources of a version that a version before it did not have.
func appendNew(found []Resource, group string, version discovery.APIVersionDiscovery) []Resource {
	for _, r := range version.Resources {
		resource := schema.GroupVersionResource{Group: group, Version: version.Version, Resource: r.Resource}
		if slices.ContainsFunc(found, func(f Resource) bool { return f.GroupResource() == resource.GroupResource() }) {
			continue
		}
		one := Resource{GroupVersionResource: resource, Namespaced: r.Scope == discovery.ScopeNamespace, Verbs: r.Verbs}
		if r.ResponseKind != nil {
			one.Kind = r.ResponseKind.Kind
		}
		found = append(found, one)
	}
	return found
}
