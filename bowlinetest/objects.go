package bowlinetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/bowline-dev/bowline/client"
)

// manager is the field manager of Apply and Objects.
const manager = "bowlinetest"

// Client returns a client for objects of a type, which is built-in or registered with the option Types. It acts as the
// administrator. If the plane does not serve the type, Client ends the test.
func Client[T client.Object](t testing.TB, p *Plane) client.Resource[T] {
	t.Helper()
	_, target := mappingFor[T](t, p)
	return client.Of[T](p.client, target.GroupVersionResource)
}

// mappingFor returns the kind and the resource of a type's objects.
func mappingFor[T client.Object](t testing.TB, p *Plane) (kind string, target mapping) {
	t.Helper()
	object, ok := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if !ok {
		t.Fatalf("objects must be pointers to structs, got %s", reflect.TypeFor[T]())
	}
	gvk, err := p.resources.kindOf(object)
	if err == nil {
		target, err = p.resources.find(context.Background(), p.client.REST(), gvk)
	}
	if err != nil {
		t.Fatal(err)
	}
	return gvk.Kind, target
}

// Apply applies the objects of a YAML or JSON text by server-side apply with force, so that it takes over fields of
// other managers. It returns the objects as stored, which the caller owns. Namespaced objects without a namespace go to
// the namespace default. The status is applied too. An error ends the test.
func (p *Plane) Apply(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := decode(strings.NewReader(text))
	if err != nil {
		t.Fatalf("decoding the objects to apply: %v", err)
	}
	for i, object := range objects {
		if objects[i], err = p.write(object, apply); err != nil {
			t.Fatalf("applying %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	return objects
}

// create creates an object with its status.
func (p *Plane) create(t testing.TB, object client.Object) {
	t.Helper()
	content, err := contentOf(object)
	if err != nil {
		t.Fatalf("a %T cannot be written: %v", object, err)
	}
	o := &unstructured.Unstructured{Object: content}
	kind, err := p.resources.kindOf(object)
	if err == nil {
		o.SetGroupVersionKind(kind)
		_, err = p.write(o, post)
	}
	if err != nil {
		t.Fatalf("creating the %T %s: %v", object, object.GetName(), err)
	}
}

// contentOf converts a value to unstructured content by way of JSON.
func contentOf(value any) (content map[string]any, err error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return content, utiljson.Unmarshal(data, &content)
}

// write writes an object, and then its status if the kind has a status subresource.
func (p *Plane) write(o untyped, send sending) (untyped, error) {
	target, err := p.resources.find(context.Background(), p.client.REST(), o.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if target.namespaced && o.GetNamespace() == "" {
		o.SetNamespace(metav1.NamespaceDefault)
	}
	to := client.Of[untyped](p.client, target.GroupVersionResource)
	stored, err := send(to, o, "")
	if status, _ := o.Object["status"].(map[string]any); err != nil || len(status) == 0 || !target.hasStatus {
		return stored, err
	}
	o.SetName(stored.GetName())
	return send(to, o, "status")
}

// untyped is an object of any kind; resource is a client for the objects of one resource.
type (
	untyped  = *unstructured.Unstructured
	resource = client.Resource[untyped]
)

// sending is a function that writes an object, or a subresource of it if subresource is not empty.
type sending func(to resource, o untyped, subresource string) (untyped, error)

func post(to resource, o untyped, subresource string) (untyped, error) {
	if subresource == "" {
		return to.Create(context.Background(), o,
			metav1.CreateOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict})
	}
	patch, err := json.Marshal(map[string]any{subresource: o.Object[subresource]})
	if err != nil {
		return nil, err
	}
	return to.Patch(context.Background(), o.GetNamespace(), o.GetName(), subresource, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: manager})
}

func apply(to resource, o untyped, subresource string) (untyped, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	force := true
	return to.Patch(context.Background(), o.GetNamespace(), o.GetName(), subresource, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: manager, Force: &force, FieldValidation: metav1.FieldValidationStrict})
}

// decode reads the objects of a stream of YAML or JSON documents. It skips empty documents and expands Lists.
func decode(from io.Reader) (objects []*unstructured.Unstructured, err error) {
	documents := yaml.NewYAMLOrJSONDecoder(from, 4096)
	for n := 1; ; n++ {
		o := &unstructured.Unstructured{}
		switch err := documents.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("document %d: %w", n, err)
		case len(o.Object) == 0:
			continue
		case o.GetKind() == "" || o.GetAPIVersion() == "":
			return nil, fmt.Errorf("document %d has no kind or no apiVersion", n)
		case !o.IsList():
			objects = append(objects, o)
			continue
		}
		list, err := o.ToList()
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	}
}
