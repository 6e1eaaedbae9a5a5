package discovery

import (
	"fmt"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
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
	// Stale reports that the server did not answer the last request for the list.
	Stale bool
}

// Resources returns the aggregated form of the plain document of a group version, which lists each subresource after
// its resource.
func Resources(list *metav1.APIResourceList) ([]apidiscovery.APIResourceDiscovery, error) {
	var resources []apidiscovery.APIResourceDiscovery
	at := map[string]int{}
	for i := range list.APIResources {
		r := &list.APIResources[i]
		name, sub, isSub := strings.Cut(r.Name, "/")
		kind := &metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		if !isSub {
			at[name] = len(resources)
			resources = append(resources, apidiscovery.APIResourceDiscovery{
				Resource: name, ResponseKind: kind, Scope: scope(r), SingularResource: r.SingularName, Verbs: r.Verbs,
				ShortNames: r.ShortNames, Categories: r.Categories,
			})
			continue
		}
		if sub == "" || strings.Contains(sub, "/") {
			return nil, fmt.Errorf("invalid name of a subresource: %q", r.Name)
		}
		parent, listed := at[name]
		if !listed { // only the subresource is served
			parent = len(resources)
			at[name] = parent
			resources = append(resources, apidiscovery.APIResourceDiscovery{
				Resource: name, ResponseKind: &metav1.GroupVersionKind{}, Scope: scope(r),
			})
		}
		resources[parent].Subresources = append(resources[parent].Subresources,
			apidiscovery.APISubresourceDiscovery{Subresource: sub, ResponseKind: kind, Verbs: r.Verbs})
	}
	return resources, nil
}

func scope(r *metav1.APIResource) apidiscovery.ResourceScope {
	if r.Namespaced {
		return apidiscovery.ScopeNamespace
	}
	return apidiscovery.ScopeCluster
}
