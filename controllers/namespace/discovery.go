package namespace

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	discovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// deletable is a namespaced resource whose objects can be deleted.
type deletable struct {
	schema.GroupVersionResource
	// list and collection say whether the objects can be listed, and deleted together.
	list, collection bool
}

// discover finds every namespaced resource that serves delete, each in its preferred version. Groups that do not answer
// at the moment are failures; the rest is found none the less.
func discover(ctx context.Context, c *client.Client) (found []deletable, failures []error) {
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
				found = appendDeletable(found, group.Name, version)
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

// appendDeletable adds the resources of a version that a version before it did not have.
func appendDeletable(found []deletable, group string, version discovery.APIVersionDiscovery) []deletable {
	for _, r := range version.Resources {
		resource := schema.GroupVersionResource{Group: group, Version: version.Version, Resource: r.Resource}
		known := slices.ContainsFunc(found, func(d deletable) bool { return d.GroupResource() == resource.GroupResource() })
		if known || r.Scope != discovery.ScopeNamespace || !slices.Contains(r.Verbs, "delete") {
			continue
		}
		found = append(found, deletable{
			GroupVersionResource: resource,
			list:                 slices.Contains(r.Verbs, "list"),
			collection:           slices.Contains(r.Verbs, "deletecollection"),
		})
	}
	return found
}
