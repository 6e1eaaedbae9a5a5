// Package declare applies declared objects like kubectl's client-side apply, and then watches them until they
// are ready. It neither reads files, which package manifest does, nor prints anything, which package up does.
package declare

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
)

// Applied is a declared object as stored by the server.
type Applied struct {
	Source  manifest.Source
	Object  *unstructured.Unstructured
	mapping *meta.RESTMapping
}

// Name returns the object's name as kubectl prints it, but with the namespace:
// network.example.com/NAMESPACE/NAME.
func (a Applied) Name() string {
	kind := strings.ToLower(a.Object.GetKind())
	if group := a.Object.GroupVersionKind().Group; group != "" {
		kind += "." + group
	}
	if namespace := a.Object.GetNamespace(); namespace != "" {
		return kind + "/" + namespace + "/" + a.Object.GetName()
	}
	return kind + "/" + a.Object.GetName()
}

// key identifies the object on the server.
func (a Applied) key() objectKey {
	return objectKey{resource: a.mapping.Resource, namespace: a.Object.GetNamespace(), name: a.Object.GetName()}
}

type objectKey struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// Readiness describes whether an object is ready.
type Readiness struct {
	Ready bool
	// State is the state that the object has reached or is waiting for: Established, Available, Ready or
	// stored.
	State string
	// Reason is the reason of the server or the controller if the condition is not true yet.
	Reason string
}

// A definition is ready once it is served, a deployment once enough of its pods are ready.
const (
	definition = "CustomResourceDefinition"
	deployment = "Deployment"
)

// ReadinessOf returns the readiness of an object from its conditions. A definition is ready when it is
// Established; a deployment whose pods run (controlled) when it is Available. An object with a condition
// Ready, or of a kind whose controller will set one (controlled), is ready when that condition is True for
// the current generation. Any other object is ready when it is stored.
func ReadinessOf(object *unstructured.Unstructured, controlled bool) Readiness {
	switch kind := object.GetKind(); {
	case kind == definition:
		return conditionReadiness(object, "Established")
	case kind == deployment && controlled:
		return conditionReadiness(object, "Available")
	}
	if _, found := condition(object, "Ready"); found || controlled {
		return conditionReadiness(object, "Ready")
	}
	return Readiness{Ready: true, State: "stored"}
}

func conditionReadiness(object *unstructured.Unstructured, name string) Readiness {
	found, ok := condition(object, name)
	if !ok {
		return Readiness{State: name, Reason: "no controller has reconciled it yet"}
	}
	if isStale(object, found) {
		return Readiness{State: name, Reason: "its latest change is not reconciled yet"}
	}
	status, _, _ := unstructured.NestedString(found, "status")
	if status == "True" {
		return Readiness{Ready: true, State: name}
	}
	reason, _, _ := unstructured.NestedString(found, "reason")
	message, _, _ := unstructured.NestedString(found, "message")
	why := strings.TrimSuffix(strings.TrimSpace(reason+": "+message), ":")
	return Readiness{State: name, Reason: strings.TrimPrefix(why, ": ")}
}

// condition returns the entry of status.conditions with the type name.
func condition(object *unstructured.Unstructured, name string) (map[string]any, bool) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if found, ok := entry.(map[string]any); ok && found["type"] == name {
			return found, true
		}
	}
	return nil, false
}

// isStale reports whether the condition was set for an older generation of the object.
func isStale(object *unstructured.Unstructured, condition map[string]any) bool {
	if generation, ok, _ := unstructured.NestedInt64(condition, "observedGeneration"); ok {
		return generation < object.GetGeneration()
	}
	generation, ok, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return ok && generation < object.GetGeneration()
}

// Error reports that an object could not be sent, or that the server rejected it.
type Error struct {
	Source manifest.Source
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Source, e.Err) }

func (e *Error) Unwrap() error { return e.Err }
