package discovery

import (
	"fmt"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Remotes lists the group versions of other servers. It is immutable.
type Remotes struct{ Versions []*Remote }

// Remote is a group version that another server serves. It is immutable.
type Remote struct {
	schema.GroupVersion
	// GroupPriority and VersionPriority are those of its APIService.
	GroupPriority, VersionPriority int
	// Resources is the last list of resources that the server sent.
	Resources []apidiscovery.APIResourceDiscovery
	// Stale reports that the server did not answer the last request for the list, or was not asked yet.
	Stale bool
}

// maxResources is the maximum number of resources and subresources of a group version of another server.
const maxResources = 1000

// Resources returns the aggregated form of the plain document of a group version of another server, or an error if
// names in it cannot be in a path, or are too many.
func Resources(list *metav1.APIResourceList) ([]apidiscovery.APIResourceDiscovery, error) {
	if n := len(list.APIResources); n > maxResources {
		return nil, fmt.Errorf("%d resources: limit is %d", n, maxResources)
	}
	var resources []apidiscovery.APIResourceDiscovery
	at := map[string]int{}
	add := func(r apidiscovery.APIResourceDiscovery) {
		at[r.Resource] = len(resources)
		resources = append(resources, r)
	}
	for i := range list.APIResources {
		r := &list.APIResources[i]
		name, sub, isSub := strings.Cut(r.Name, "/")
		if len(content.IsPathSegmentName(name)) > 0 || isSub && len(content.IsPathSegmentName(sub)) > 0 ||
			name == "" || isSub && sub == "" {
			return nil, fmt.Errorf("invalid name of a resource: %q", r.Name)
		}
		if _, twice := at[name]; !isSub && !twice {
			add(apidiscovery.APIResourceDiscovery{
				Resource: name, ResponseKind: kindOf(r), Scope: scope(r), SingularResource: r.SingularName,
				Verbs: r.Verbs, ShortNames: r.ShortNames, Categories: r.Categories,
			})
		}
	}
	for i := range list.APIResources {
		r := &list.APIResources[i]
		name, sub, isSub := strings.Cut(r.Name, "/")
		if !isSub {
			continue
		}
		if _, listed := at[name]; !listed { // only the subresource is served
			add(apidiscovery.APIResourceDiscovery{Resource: name, ResponseKind: &metav1.GroupVersionKind{},
				Scope: scope(r)})
		}
		parent := &resources[at[name]]
		parent.Subresources = append(parent.Subresources,
			apidiscovery.APISubresourceDiscovery{Subresource: sub, ResponseKind: kindOf(r), Verbs: r.Verbs})
	}
	return resources, nil
}

func kindOf(r *metav1.APIResource) *metav1.GroupVersionKind {
	return &metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

func scope(r *metav1.APIResource) apidiscovery.ResourceScope {
	if r.Namespaced {
		return apidiscovery.ScopeNamespace
	}
	return apidiscovery.ScopeCluster
}
