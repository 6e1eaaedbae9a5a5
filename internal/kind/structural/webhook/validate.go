package webhook

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
)

// errorNames holds the three names that Kubernetes' errors use for an object of a response.
type errorNames struct{ whole, object, metadata string }

// errorNamesFor returns the names for the object at an index of a response with the given number of objects.
func errorNamesFor(index, of int) errorNames {
	if of == 1 {
		return errorNames{"invalid object at index 0", "invalid object", "invalid metadata"}
	}
	whole := fmt.Sprintf("invalid converted object at index %d", index)
	return errorNames{whole, whole, fmt.Sprintf("invalid metadata in object at index %d", index)}
}

// validateObject validates an object of a response: it must have the requested version and the identity of the
// original. checked restores the original's metadata except labels and annotations, which a webhook may
// change.
func validateObject(original *unstructured.Unstructured, raw runtime.RawExtension, apiVersion string,
	at errorNames) (*unstructured.Unstructured, error) {
	converted, ok := raw.Object.(*unstructured.Unstructured)
	if !ok {
		if err := kind.CheckJSON(raw.Raw); err != nil {
			return nil, fmt.Errorf("%s: %w", at.whole, err)
		}
		converted = &unstructured.Unstructured{}
		if err := converted.UnmarshalJSON(raw.Raw); err != nil {
			return nil, fmt.Errorf("%s: %w", at.whole, err)
		}
	}
	got, want := converted.GroupVersionKind(), schema.FromAPIVersionAndKind(apiVersion, original.GetKind())
	if got.GroupVersion() != want.GroupVersion() {
		return nil, fmt.Errorf("%s: invalid groupVersion (expected %v, received %v)", at.whole, want.GroupVersion(),
			got.GroupVersion())
	}
	if got.Kind != want.Kind {
		return nil, fmt.Errorf("%s: invalid kind (expected %v, received %v)", at.whole, want.Kind, got.Kind)
	}
	if err := checkIdentity(original, converted); err != nil {
		return nil, fmt.Errorf("%s: %w", at.object, err)
	}
	if err := restoreMetadata(original, converted); err != nil {
		return nil, fmt.Errorf("%s: %w", at.metadata, err)
	}
	return converted, nil
}

// checkIdentity compares the identifying metadata.
func checkIdentity(original, converted *unstructured.Unstructured) error {
	for _, c := range []struct{ what, was, is string }{
		{"name", original.GetName(), converted.GetName()},
		{"namespace", original.GetNamespace(), converted.GetNamespace()},
		{"UID", string(original.GetUID()), string(converted.GetUID())},
	} {
		if c.was != c.is {
			return fmt.Errorf("must have the same %s: %v != %v", c.what, c.was, c.is)
		}
	}
	return nil
}

// restoreMetadata restores the original's metadata, except for labels and annotations.
func restoreMetadata(original, converted *unstructured.Unstructured) error {
	value, found := converted.Object["metadata"]
	if !found {
		return fmt.Errorf("missing metadata in converted object")
	}
	given, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata of type %T in converted object", value)
	}
	restored := map[string]any{}
	if was, ok := original.Object["metadata"].(map[string]any); ok {
		restored = runtime.DeepCopyJSON(was)
	}
	for _, name := range []string{"labels", "annotations"} {
		if err := restoreStrings(restored, given, name); err != nil {
			return err
		}
	}
	converted.Object["metadata"] = restored
	return nil
}

// restoreStrings sets the labels or annotations of given, after validating them if they changed.
func restoreStrings(restored, given map[string]any, name string) error {
	if given[name] == nil {
		delete(restored, name)
		return nil
	}
	values, ok := given[name].(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata.%s of type %T in converted object", name, given[name])
	}
	was, ok := restored[name].(map[string]any)
	if !ok && restored[name] != nil {
		return fmt.Errorf("invalid metadata.%s of type %T in original object", name, restored[name])
	}
	texts, changed := make(map[string]string, len(values)), len(was) != len(values)
	for key, value := range values {
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("metadata.%s[%s] must be a string, but is %T in converted object", name, key, value)
		}
		texts[key], changed = text, changed || was[key] != value
	}
	restored[name] = values
	if !changed {
		return nil
	}
	return invalidStrings(name, texts)
}

func invalidStrings(name string, texts map[string]string) error {
	path := field.NewPath("metadata", name)
	var errs field.ErrorList
	if name == "labels" {
		errs = metavalidation.ValidateLabels(texts, path)
	} else {
		errs = validation.ValidateAnnotations(texts, field.NewPath("metadata", "annotation")) // Kubernetes' path
	}
	if len(errs) == 0 {
		return nil
	}
	return errs.ToAggregate()
}
