// Package discovery is the kinds of the discovery.k8s.io group: endpoint slices, which say at which addresses the pods
// of a service are reached. (What a server tells of its own resources is package server/discovery.)
//
// What a rule refuses, and in which words, follows Kubernetes 1.36 (pkg/apis/discovery/validation and
// pkg/registry/discovery). Package kind/builtin puts the kinds into a server's registry; nothing else calls this package.
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
	"github.com/bowline-dev/bowline/object"
)

// Kinds are all kinds of the group, for one server. The cache bounds their second encodings.
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
		Validate: validateEndpointSlice,
		Warnings: endpointSliceWarnings,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "AddressType", Type: "string", Description: docs["addressType"]},
			{Name: "Ports", Type: "string", Description: docs["ports"]},
			{Name: "Endpoints", Type: "string", Description: docs["endpoints"]},
			kind.AgeColumn,
		},
		Row: func(s *discoveryv1.EndpointSlice, now time.Time) []any {
			return []any{s.Name, string(s.AddressType), shownPorts(s), shownAddresses(s), kind.Age(s.CreationTimestamp.Time, now)}
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

// prepareEndpointSlice counts a change of the labels as a change of the slice: the service that it belongs to is one of
// them. What v1beta1 had as the topology is not taken any more. Empty lists are kept as none, so that JSON has null there.
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

func shownPorts(s *discoveryv1.EndpointSlice) string {
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
	return cmp.Or(kind.Few(ports), unset)
}

func shownAddresses(s *discoveryv1.EndpointSlice) string {
	var addresses []string
	for _, e := range s.Endpoints {
		addresses = append(addresses, e.Addresses...)
	}
	return cmp.Or(kind.Few(addresses), unset)
}

// unset is the cell of a list that has nothing to show.
const unset = "<unset>"
