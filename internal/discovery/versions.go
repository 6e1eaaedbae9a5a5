package discovery

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// Version is one version of a resource.
type Version struct {
	schema.GroupVersionResource
	Singular, Kind string
}

// Versions returns every version of every resource, without those of which discovery does not list the kind.
func Versions(ctx context.Context, c *client.Client) (found []Version, err error) {
	for _, path := range []string{"/api", "/apis"} {
		groups, err := fetchGroups(ctx, c, path)
		if err != nil {
			return nil, err
		}
		for _, group := range groups.Items {
			for _, version := range group.Versions {
				for _, r := range version.Resources {
					if r.ResponseKind == nil || r.ResponseKind.Kind == "" {
						continue
					}
					one := Version{Singular: r.SingularResource, Kind: r.ResponseKind.Kind}
					one.Group, one.Version, one.Resource = group.Name, version.Version, r.Resource
					if one.Singular == "" {
						one.Singular = strings.ToLower(one.Kind)
					}
					found = append(found, one)
				}
			}
		}
	}
	return found, nil
}
