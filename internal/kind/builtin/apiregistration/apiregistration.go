// Package apiregistration defines the kinds of the apiregistration.k8s.io group: apiservices. Each names the server of
// a group version: this one, or another that package internal/server/aggregate forwards requests to.
//
// Validation follows Kubernetes 1.37 (pkg/apis/apiregistration/validation and pkg/registry/apiservice of
// k8s.io/kube-aggregator). The server validates metadata for all kinds, but not that the name fits the group version.
// Package internal/kind/builtin registers the kinds, and creates the objects of the group versions that are built in.
package apiregistration

import (
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server. cache bounds the memory for cached encodings.
func Kinds(cache *object.Cache) []kind.Kind { return []kind.Kind{serviceKind(cache)} }

func serviceKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "APIService", Plural: "apiservices", Singular: "apiservice", Categories: []string{"api-extensions"},
		ConditionalUpdate: true,
		ValidName:         func(name string, _ bool) []string { return content.IsPathSegmentName(name) },
		Endpoints: []kind.Endpoint{
			{Group: apiregistrationv1.GroupName, Version: apiregistrationv1.SchemeGroupVersion.Version},
		},
		Subresources: []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
	}, kind.Rules[*apiregistrationv1.APIService]{
		Default:  setPort,
		Prepare:  prepare,
		Validate: validate,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Service", Type: "string", Description: "The reference to the service that hosts this API endpoint."},
			{Name: "Available", Type: "string", Description: "Whether this service is available."},
			kind.AgeColumn,
		},
		Row: func(s *apiregistrationv1.APIService, now time.Time) []any {
			return []any{s.Name, server(s), availability(s), kind.Age(s.CreationTimestamp.Time, now)}
		},
	})
}

func setPort(s *apiregistrationv1.APIService) {
	if s.Spec.Service != nil && s.Spec.Service.Port == nil {
		port := int32(443)
		s.Spec.Service.Port = &port
	}
}

// prepare makes an APIService of this server available from the start, and restores the metadata that a write of the
// status cannot change.
func prepare(s, old *apiregistrationv1.APIService, sub string) {
	switch {
	case old == nil && s.Spec.Service == nil:
		s.Status.Conditions = []apiregistrationv1.APIServiceCondition{localAvailable(metav1.Now().Rfc3339Copy())}
	case old != nil && sub == "status":
		s.Labels, s.Annotations, s.Finalizers = old.Labels, old.Annotations, old.Finalizers
		s.OwnerReferences = old.OwnerReferences
	}
}

func localAvailable(at metav1.Time) apiregistrationv1.APIServiceCondition {
	return apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, LastTransitionTime: at,
		Reason: "Local", Message: "Local APIServices are always available",
	}
}

// server names who serves an APIService, for a table.
func server(s *apiregistrationv1.APIService) string {
	if s.Spec.Service == nil {
		return "Local"
	}
	return s.Spec.Service.Namespace + "/" + s.Spec.Service.Name
}

// availability returns the status of the condition Available, for a table, with the reason if it is not True.
func availability(s *apiregistrationv1.APIService) string {
	for _, c := range s.Status.Conditions {
		switch {
		case c.Type != apiregistrationv1.Available:
		case c.Status == apiregistrationv1.ConditionTrue || c.Reason == "":
			return string(c.Status)
		default:
			return string(c.Status) + " (" + c.Reason + ")"
		}
	}
	return string(apiregistrationv1.ConditionUnknown)
}
