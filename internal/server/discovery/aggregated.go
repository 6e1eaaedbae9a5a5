package discovery

import (
	"bytes"
	"encoding/json"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// aggregate encodes the document of /api (core) or /apis with all resources below it. The versions v2 and
// v2beta1 differ in their apiVersion only. The JSON is concatenated from that of the groups.
func (s *served) aggregate(core bool, m media) ([]byte, error) {
	list := &apidiscovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: aggregatedKind, APIVersion: aggregatedGroup + "/" + m.version},
		Items:    []apidiscovery.APIGroupDiscovery{},
	}
	var texts [][]byte
	for _, g := range s.groups {
		if core != (g.name == "") {
			continue
		}
		if err := g.aggregate(); err != nil {
			return nil, err
		}
		if m.format == protobufFormat {
			list.Items = append(list.Items, *g.aggregated)
		}
		texts = append(texts, g.text)
	}
	if m.format == protobufFormat {
		return kind.Marshal(object.Protobuf, list)
	}
	empty, err := kind.Marshal(object.JSON, list)
	if err != nil {
		return nil, err
	}
	head, tail, _ := bytes.Cut(empty, []byte(`"items":[]`))
	items := bytes.Join(texts, []byte{','})
	text := bytes.Join([][]byte{head, []byte(`"items":[`), items, {']'}, tail, {'\n'}}, nil)
	if m.format == yamlFormat {
		return yaml.JSONToYAML(text)
	}
	return text, nil
}

// aggregate encodes the group, once.
func (g *group) aggregate() error {
	if g.aggregated != nil {
		return nil
	}
	d := &apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
	for _, v := range g.versions {
		of := apidiscovery.APIVersionDiscovery{Version: v.name, Freshness: apidiscovery.DiscoveryFreshnessCurrent}
		if v.remote != nil {
			of.Resources = v.remote.Resources
			if v.remote.Stale {
				of.Freshness = apidiscovery.DiscoveryFreshnessStale
			}
		}
		for _, entry := range v.entries {
			of.Resources = append(of.Resources, aggregateResource(entry))
		}
		d.Versions = append(d.Versions, of)
	}
	text, err := json.Marshal(d)
	if err == nil {
		g.aggregated, g.text = d, text
	}
	return err
}

func aggregateResource(entry kind.Entry) apidiscovery.APIResourceDiscovery {
	info, gv := entry.Kind.Info(), entry.Endpoint.GroupVersion()
	r := apidiscovery.APIResourceDiscovery{
		Resource:         info.Plural,
		ResponseKind:     responseKind(entry, schema.GroupVersion{}, info.Kind),
		Scope:            apidiscovery.ScopeCluster,
		SingularResource: info.Singular,
		Verbs:            info.ServedVerbs(),
		ShortNames:       shortNames(info, gv),
		Categories:       categories(info, gv),
	}
	if info.Namespaced {
		r.Scope = apidiscovery.ScopeNamespace
	}
	for _, sub := range subresources(entry) {
		plain := describeSubresource(info, sub, gv)
		r.Subresources = append(r.Subresources, apidiscovery.APISubresourceDiscovery{
			Subresource: sub.Name,
			ResponseKind: responseKind(entry, schema.GroupVersion{Group: plain.Group, Version: plain.Version},
				plain.Kind),
			Verbs: sub.Verbs,
		})
	}
	return r
}

// responseKind names a kind like Kubernetes: for a built-in resource without group and version if they are
// the resource's, for a custom one with them.
func responseKind(entry kind.Entry, other schema.GroupVersion, name string) *metav1.GroupVersionKind {
	if other.Empty() && isCustom(entry.Kind) {
		other = entry.Endpoint.GroupVersion()
	}
	return &metav1.GroupVersionKind{Group: other.Group, Version: other.Version, Kind: name}
}
