package ownership

import (
	_ "embed"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/patch/ownership/internal/types"
)

// builtinText holds the types of all built-in kinds.
//
//go:generate go run ./gen ../../server/openapi/definitions.zip types.txt
//go:embed types.txt
var builtinText string

// builtinTypes indexes builtinText. All planes of a process share the parsed types, which are immutable.
var builtinTypes = sync.OnceValue(func() *types.Index { return types.NewIndex(builtinText) })

// kindForm implements form for a kind.Kind.
type kindForm struct{ kind.Kind }

func (f kindForm) kind(gv schema.GroupVersion) (string, bool) {
	return f.Info().Kind, f.Info().Endpoint(gv) != nil
}

func (f kindForm) convert(obj runtime.Object, apiVersion string) (runtime.Object, error) {
	return f.Convert(obj, apiVersion)
}

func (f kindForm) translate(u *unstructured.Unstructured, apiVersion string) (runtime.Object, error) {
	if own, ok := f.Kind.(kind.Custom); ok {
		return own.Translate(u, apiVersion)
	}
	return f.Convert(u, apiVersion)
}

func (f kindForm) empty(gvk schema.GroupVersionKind) runtime.Object {
	obj := f.Prototype(gvk.GroupVersion().String())
	if obj == nil {
		obj = &unstructured.Unstructured{Object: map[string]any{}}
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj
}

// types returns the schema of a version, or that of the hub for a version that uses the hub's struct.
func (f kindForm) types(gvk schema.GroupVersionKind) (typed.ParseableType, error) {
	if own, ok := f.Kind.(kind.Custom); ok {
		return customType(own, gvk)
	}
	t, err := builtinType(gvk)
	if err == nil && t.Schema == nil {
		t, err = builtinType(f.Info().Endpoints[0].GroupVersion().WithKind(gvk.Kind))
	}
	if err == nil && t.Schema == nil {
		t = typed.DeducedParseableType
	}
	return t, err
}

// preservedFields follows Kubernetes: a write of the object does not own the status if that is a subresource, nor the
// fields in Info.Fixed. A write of the status, or of another part of it, does not own the spec and the fields in
// Subresource.Preserves.
func (f kindForm) preservedFields(sub string) []string {
	if f.Info().Subresource("status") == nil {
		return nil
	}
	if part := f.Info().Subresource(sub); part != nil && (sub == "status" || len(part.Preserves) > 0) {
		return append([]string{"spec"}, part.Preserves...)
	}
	return append([]string{"status"}, f.Info().Fixed...)
}

func (f kindForm) ownedFields(sub string) []string {
	if part := f.Info().Subresource(sub); part != nil {
		return part.Owns
	}
	return nil
}

// builtinType returns the type of a built-in kind with all types that it refers to. Its schema is nil for
// other kinds.
func builtinType(gvk schema.GroupVersionKind) (typed.ParseableType, error) {
	name, defs, err := builtinTypes().Find(gvk.GroupVersion().String() + "/" + gvk.Kind)
	if err != nil {
		return typed.ParseableType{}, fmt.Errorf("the schema of %s cannot be read: %w", gvk, err)
	}
	if name == "" {
		return typed.ParseableType{}, nil
	}
	return root(name, defs), nil
}

// root returns the named type among the definitions that it refers to.
func root(name string, defs []smd.TypeDef) typed.ParseableType {
	parser := typed.Parser{Schema: smd.Schema{Types: defs}}
	return parser.Type(name)
}
