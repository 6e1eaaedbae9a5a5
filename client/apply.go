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

	"github.com/bowline-dev/bowline/internal/wire"
)

// Configuration is an object that has only the fields that the caller manages: one of client-go's
// applyconfigurations, or of those that code generators write for custom resources.
type Configuration interface {
	// IsApplyConfiguration marks generated apply configurations.
	IsApplyConfiguration()
	// GetName returns metadata.name, or nil if it is not set.
	GetName() *string
	// GetNamespace returns metadata.namespace, or nil if it is not set.
	GetNamespace() *string
}

// Apply performs a server-side apply (KEP-555) with the fields of configuration and creates the object if it
// does not exist. It returns the object as stored. The server does not change fields that configuration omits, except
// that it releases the fields that the same manager applied before, and removes those without another owner.
// options.FieldManager is required. If another manager owns a field with a different value, the error is a Conflict
// unless options.Force is set.
func (r Resource[T]) Apply(ctx context.Context, configuration Configuration, options metav1.ApplyOptions) (T, error) {
	return r.applyConfiguration(ctx, "", configuration, options)
}

// ApplyStatus is like Apply for the status subresource.
func (r Resource[T]) ApplyStatus(ctx context.Context, configuration Configuration,
	options metav1.ApplyOptions) (T, error) {
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
	data, err := wire.Encode(configuration)
	if err != nil {
		return *new(T), err
	}
	return r.apply(ctx, *namespace, *name, subresource, data, options)
}

// ApplyObject is like Apply with the fields of an object: those of its JSON, except nulls, an empty status, and the
// fields that only the server sets (uid, creationTimestamp, generation, managedFields). A Go field without omitempty is
// applied even if it is zero; use Apply with a Configuration to omit it.
func (r Resource[T]) ApplyObject(ctx context.Context, obj T, options metav1.ApplyOptions) (T, error) {
	found, err := r.endpoint.find(ctx)
	if err != nil {
		return *new(T), err
	}
	data, err := wire.EncodeAs(obj, found.resource.GroupVersion().WithKind(found.kind))
	if err != nil {
		return *new(T), err
	}
	if data, err = configurationOf(data); err != nil {
		return *new(T), fmt.Errorf("applying %s: %w", wire.NameOf(data), err)
	}
	return r.apply(ctx, obj.GetNamespace(), obj.GetName(), "", data, options)
}

func (r Resource[T]) apply(ctx context.Context, namespace, name, subresource string, data []byte,
	options metav1.ApplyOptions) (T, error) {
	q, err := r.endpoint.object(ctx, http.MethodPatch, namespace, name, subresource)
	if err != nil {
		return *new(T), err
	}
	if options.FieldManager == "" {
		return *new(T),
			errors.New("applying " + wire.NameOf(data) +
				": options.FieldManager is empty: set the name of the field manager")
	}
	patch := options.ToPatchOptions()
	q = r.endpoint.client.options(q.SetHeader("Content-Type", string(types.ApplyYAMLPatchType)), &patch)
	return r.exchange(ctx, q.Body(data))
}

// configurationOf returns an object's JSON without the fields that an apply must not set.
func configurationOf(data []byte) ([]byte, error) {
	var object map[string]any
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber() // keep int64 values exact
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
	return wire.Encode(object)
}

// dropNulls removes null fields at any depth, such as the creationTimestamp of a pod template.
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
