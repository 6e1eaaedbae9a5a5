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

// builtinText is the types of all built-in kinds.
//
//go:generate go run ./gen ../../server/openapi/definitions.zip types.txt
//go:embed types.txt
var builtinText string

// builtinTypes finds them. All planes of a process share what has been read, which nobody changes.
var builtinTypes = sync.OnceValue(func() *types.Index { return types.NewIndex(builtinText) })

// kindForm is the form of a kind.Kind.
type kindForm struct{ kind.Kind }

func (f kindForm) kind(gv schema.GroupVersion) (string, bool) {
	return f.Info().Kind, f.Info().Endpoint(gv) != nil
}

func (f kindForm) convert(obj runtime.Object, apiVersion string) (runtime.Object, error) {
	return f.Convert(obj, apiVersion)
}

func (f kindForm) translate(u *unstructured.Unstructured, apiVersion string) (runtime.Object, error) {
	if own, ok := f.Kind.(kind.Translator); ok {
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

// types finds the schema of a version: its own, or that of the hub for a version that the hub's struct serves.
func (f kindForm) types(gvk schema.GroupVersionKind) (typed.ParseableType, error) {
	if own, ok := f.Kind.(kind.Schematic); ok {
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

// kept is what Kubernetes keeps: of the object the status where that is a subresource, of the status the spec, and what the
// subresource says beside it.
func (f kindForm) kept(sub string) []string {
	status := f.Info().Subresource("status")
	switch {
	case status == nil:
		return nil
	case sub == "status":
		return append([]string{"spec"}, status.Keeps...)
	}
	return []string{"status"}
}

// builtinType reads the type of a built-in kind and all that it reaches. Its schema is nil when the kind is none.
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

// root is a type among those that it reaches.
func root(name string, defs []smd.TypeDef) typed.ParseableType {
	parser := typed.Parser{Schema: smd.Schema{Types: defs}}
	return parser.Type(name)
}
