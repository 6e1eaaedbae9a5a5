package discovery

import (
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/kind"
)

// aggregate is the document of /api (core) or /apis that holds every resource below it. Its versions v2 and v2beta1 differ in
// their apiVersion alone.
func aggregate(kinds []kind.Kind, core bool, version string) *apidiscovery.APIGroupDiscoveryList {
	list := &apidiscovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: aggregatedKind, APIVersion: aggregatedGroup + "/" + version},
		Items:    []apidiscovery.APIGroupDiscovery{},
	}
	for _, g := range groupsOf(kinds) {
		if core != (g.Name == "") {
			continue
		}
		group := apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.Name}}
		for _, v := range g.Versions {
			group.Versions = append(group.Versions, aggregateVersion(kinds, schema.GroupVersion{Group: g.Name, Version: v}))
		}
		list.Items = append(list.Items, group)
	}
	return list
}

func aggregateVersion(kinds []kind.Kind, gv schema.GroupVersion) apidiscovery.APIVersionDiscovery {
	v := apidiscovery.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscovery.DiscoveryFreshnessCurrent}
	for _, entry := range sortedByPlural(served(kinds, gv)) {
		v.Resources = append(v.Resources, aggregateResource(entry.Kind.Info(), gv))
	}
	return v
}

func aggregateResource(info *kind.Info, gv schema.GroupVersion) apidiscovery.APIResourceDiscovery {
	r := apidiscovery.APIResourceDiscovery{
		Resource:         info.Plural,
		ResponseKind:     &metav1.GroupVersionKind{Kind: info.Kind},
		Scope:            apidiscovery.ScopeCluster,
		SingularResource: info.Singular,
		Verbs:            info.ServedVerbs(),
		ShortNames:       info.ShortNames,
		Categories:       info.Categories,
	}
	if info.Namespaced {
		r.Scope = apidiscovery.ScopeNamespace
	}
	for _, sub := range sortedSubresources(info) {
		plain := describeSubresource(info, sub, gv)
		r.Subresources = append(r.Subresources, apidiscovery.APISubresourceDiscovery{
			Subresource:  sub.Name,
			ResponseKind: &metav1.GroupVersionKind{Group: plain.Group, Version: plain.Version, Kind: plain.Kind},
			Verbs:        sub.Verbs,
		})
	}
	return r
}
