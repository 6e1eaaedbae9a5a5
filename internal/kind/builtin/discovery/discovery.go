// Package discovery defines the kinds of the discovery.k8s.io group: endpoint slices, which hold the
// addresses of the pods of a service. (Package internal/server/discovery serves the API discovery documents.)
//
// Validation follows Kubernetes 1.36 (pkg/apis/discovery/validation and pkg/registry/discovery). Package
// internal/kind/builtin registers the kinds; no other package uses this one.
package discovery

import (
	"cmp"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server. cache bounds the memory for cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{endpointSliceKind(cache)}
}

func endpointSliceKind(cache *object.Cache) kind.Kind {
	docs := discoveryv1.EndpointSlice{}.SwaggerDoc()
	return kind.NewTyped(cache, kind.Info{
		Kind: "EndpointSlice", Plural: "endpointslices", Singular: "endpointslice",
		Namespaced: true,
		Generation: true,
		Endpoints:  []kind.Endpoint{{Group: discoveryv1.GroupName, Version: "v1"}},
	}, kind.Rules[*discoveryv1.EndpointSlice]{
		Default:  defaultEndpointSlice,
		Prepare:  prepareEndpointSlice,
		Validate: fieldcheck.WithFinalizers(validateEndpointSlice),
		Warnings: endpointSliceWarnings,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "AddressType", Type: "string", Description: docs["addressType"]},
			{Name: "Ports", Type: "string", Description: docs["ports"]},
			{Name: "Endpoints", Type: "string", Description: docs["endpoints"]},
			kind.AgeColumn,
		},
		Row: func(s *discoveryv1.EndpointSlice, now time.Time) []any {
			return []any{s.Name, string(s.AddressType), formatPorts(s), formatAddresses(s),
				kind.Age(s.CreationTimestamp.Time, now)}
		},
	})
}

func defaultEndpointSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.Name == nil {
			p.Name = new("")
		}
		if p.Protocol == nil {
			p.Protocol = new(corev1.ProtocolTCP)
		}
	}
}

// prepareEndpointSlice increases the generation for a change of the labels, because one of them refers to the
// service. It drops v1beta1's topology, and replaces empty lists by nil, which is null in JSON.
func prepareEndpointSlice(s, old *discoveryv1.EndpointSlice, _ string) {
	if old != nil && s.Generation == old.Generation && !maps.Equal(s.Labels, old.Labels) {
		s.Generation++
	}
	for i := range s.Endpoints {
		s.Endpoints[i].DeprecatedTopology = nil
	}
	if len(s.Endpoints) == 0 {
		s.Endpoints = nil
	}
	if len(s.Ports) == 0 {
		s.Ports = nil
	}
}

func formatPorts(s *discoveryv1.EndpointSlice) string {
	var ports []string
	for _, p := range s.Ports {
		switch {
		case p.Port != nil:
			ports = append(ports, strconv.Itoa(int(*p.Port)))
		case p.Name != nil:
			ports = append(ports, *p.Name)
		default:
			ports = append(ports, "*")
		}
	}
	return cmp.Or(kind.Abbreviate(ports), unset)
}

func formatAddresses(s *discoveryv1.EndpointSlice) string {
	var addresses []string
	for _, e := range s.Endpoints {
		addresses = append(addresses, e.Addresses...)
	}
	return cmp.Or(kind.Abbreviate(addresses), unset)
}

// unset is the table cell for an empty list.
const unset = "<unset>"
