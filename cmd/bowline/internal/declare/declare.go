// Package declare makes the server keep what a user declared, and says when it has become true: it applies objects as
// kubectl apply does on the client's side, and then watches them. It reads no file and prints nothing: package
// manifest does the one, the command up the other.
package declare

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
)

// Applied is a declared object as the server keeps it.
type Applied struct {
	Source  manifest.Source
	Object  *unstructured.Unstructured
	mapping *meta.RESTMapping
}

// Name is the object's name as kubectl prints it, with its namespace: networks.example.com/NAMESPACE/NAME without the
// plural.
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

// key finds the object again among those of its resource.
func (a Applied) key() objectKey {
	return objectKey{resource: a.mapping.Resource, namespace: a.Object.GetNamespace(), name: a.Object.GetName()}
}

type objectKey struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// Truth is how far an object has become true.
type Truth struct {
	True bool
	// What is what became true: Established, Available, Ready or stored; or, while it has not, what is awaited.
	What string
	// Why is the server's or the controller's word for a condition that is not true yet.
	Why string
}

// definition is the kind whose objects are true once they are served, and deployment the one whose are once enough pods are ready.
const (
	definition = "CustomResourceDefinition"
	deployment = "Deployment"
)

// TruthOf judges an object by its conditions: a definition is true when it is Established; a deployment whose pods somebody runs
// (controlled) when it is Available; an object that has a condition Ready, or whose kind has a controller that will set one
// (controlled), when that is True for its present generation; any other when it is stored.
func TruthOf(object *unstructured.Unstructured, controlled bool) Truth {
	switch kind := object.GetKind(); {
	case kind == definition:
		return conditionTruth(object, "Established")
	case kind == deployment && controlled:
		return conditionTruth(object, "Available")
	}
	if _, found := condition(object, "Ready"); found || controlled {
		return conditionTruth(object, "Ready")
	}
	return Truth{True: true, What: "stored"}
}

func conditionTruth(object *unstructured.Unstructured, name string) Truth {
	found, ok := condition(object, name)
	if !ok {
		return Truth{What: name, Why: "no controller has looked at it yet"}
	}
	if isStale(object, found) {
		return Truth{What: name, Why: "its latest change is not seen yet"}
	}
	status, _, _ := unstructured.NestedString(found, "status")
	if status == "True" {
		return Truth{True: true, What: name}
	}
	reason, _, _ := unstructured.NestedString(found, "reason")
	message, _, _ := unstructured.NestedString(found, "message")
	why := strings.TrimSuffix(strings.TrimSpace(reason+": "+message), ":")
	return Truth{What: name, Why: strings.TrimPrefix(why, ": ")}
}

// condition is the entry of that type in status.conditions.
func condition(object *unstructured.Unstructured, name string) (map[string]any, bool) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if found, ok := entry.(map[string]any); ok && found["type"] == name {
			return found, true
		}
	}
	return nil, false
}

// isStale reports whether the condition speaks of an older generation than the object has.
func isStale(object *unstructured.Unstructured, condition map[string]any) bool {
	if seen, ok, _ := unstructured.NestedInt64(condition, "observedGeneration"); ok {
		return seen < object.GetGeneration()
	}
	seen, ok, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return ok && seen < object.GetGeneration()
}

// Error is an object that the server did not take, or that could not be sent.
type Error struct {
	Source manifest.Source
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Source, e.Err) }

func (e *Error) Unwrap() error { return e.Err }
