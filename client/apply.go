package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Configuration is an object with the fields alone that its writer has an opinion on: client-go's applyconfigurations, and
// those that Kubernetes' generators write for custom resources.
type Configuration interface {
	IsApplyConfiguration()
	GetName() *string
	GetNamespace() *string
}

// Apply makes the fields of a configuration so and leaves all others to whom they belong, and makes the object if there is
// none: a server-side apply (KEP-555). options.FieldManager is who this is; a field that another manager has set otherwise is
// a conflict unless options.Force. A field that this manager set before and does not name now is given up.
func (r Resource[T]) Apply(ctx context.Context, configuration Configuration, options metav1.ApplyOptions) (T, error) {
	return r.applyConfiguration(ctx, "", configuration, options)
}

// ApplyStatus is Apply for an object's status.
func (r Resource[T]) ApplyStatus(ctx context.Context, configuration Configuration, options metav1.ApplyOptions) (T, error) {
	return r.applyConfiguration(ctx, "status", configuration, options)
}

func (r Resource[T]) applyConfiguration(ctx context.Context, subresource string, configuration Configuration,
	options metav1.ApplyOptions) (T, error) {
	name, namespace := configuration.GetName(), configuration.GetNamespace()
	if name == nil {
		name = new(string)
	}
	if namespace == nil {
		namespace = new(string)
	}
	data, err := encode(configuration)
	if err != nil {
		return *new(T), err
	}
	return r.apply(ctx, *namespace, *name, subresource, data, options)
}

// ApplyObject is Apply for a whole object: its configuration is what its JSON has, but for nulls, an empty status, and what
// the server alone sets (uid, creationTimestamp, generation, managedFields). A field of a Go type without omitempty is in
// its JSON with its zero value, and so is applied: where that is not meant, use a Configuration.
func (r Resource[T]) ApplyObject(ctx context.Context, obj T, options metav1.ApplyOptions) (T, error) {
	found, err := r.found(ctx)
	if err != nil {
		return *new(T), err
	}
	data, err := encodeAs(obj, found.resource.GroupVersion().WithKind(found.kind))
	if err != nil {
		return *new(T), err
	}
	if data, err = configurationOf(data); err != nil {
		return *new(T), fmt.Errorf("applying %s: %w", nameOf(data), err)
	}
	return r.apply(ctx, obj.GetNamespace(), obj.GetName(), "", data, options)
}

func (r Resource[T]) apply(ctx context.Context, namespace, name, subresource string, data []byte, options metav1.ApplyOptions) (T, error) {
	q, err := r.of(ctx, http.MethodPatch, namespace, name, subresource)
	if err != nil {
		return *new(T), err
	}
	if options.FieldManager == "" {
		return *new(T), errors.New("applying " + nameOf(data) + ": options.FieldManager is empty: say who applies it")
	}
	patch := options.ToPatchOptions()
	q = r.client.options(q.SetHeader("Content-Type", string(types.ApplyYAMLPatchType)), &patch)
	return r.answered(ctx, q.Body(data))
}

// configurationOf is an object's JSON without what nobody can have an opinion on.
func configurationOf(data []byte) ([]byte, error) {
	var object map[string]any
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber() // as they are: an int64 is no float64
	if err := numbers.Decode(&object); err != nil {
		return data, err
	}
	dropNulls(object)
	if meta, ok := object["metadata"].(map[string]any); ok {
		for _, field := range []string{"uid", "creationTimestamp", "generation", "managedFields"} {
			delete(meta, field)
		}
	}
	if status, ok := object["status"].(map[string]any); ok && len(status) == 0 {
		delete(object, "status")
	}
	return encode(object)
}

// dropNulls takes the fields away that say nothing, at any depth: creationTimestamp of a template is one.
func dropNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for field, inner := range value {
			if inner == nil {
				delete(value, field)
			}
			dropNulls(inner)
		}
	case []any:
		for _, item := range value {
			dropNulls(item)
		}
	}
}
