package ownership

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/bowline-dev/bowline/internal/kind"
)

// NewView returns the Owners of the view of a subresource with its own kind (a Scale).
func NewView(sub *kind.Subresource) *Owners { return &Owners{form: viewForm{sub}} }

// viewForm implements form for a subresource's own kind, which has one version.
type viewForm struct{ sub *kind.Subresource }

func (f viewForm) kind(gv schema.GroupVersion) (string, bool) {
	return f.sub.Kind.Kind, gv == f.sub.Kind.GroupVersion()
}

func (f viewForm) types(gvk schema.GroupVersionKind) (typed.ParseableType, error) {
	t, err := builtinType(gvk)
	if err == nil && t.Schema == nil {
		t = typed.DeducedParseableType
	}
	return t, err
}

func (f viewForm) preservedFields(string) []string { return nil }

func (f viewForm) ownedFields(string) []string { return nil }

func (f viewForm) convert(obj runtime.Object, _ string) (runtime.Object, error) { return obj, nil }

func (f viewForm) translate(u *unstructured.Unstructured, _ string) (runtime.Object, error) {
	return u, nil
}

func (f viewForm) empty(gvk schema.GroupVersionKind) runtime.Object {
	obj := f.sub.New()
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj
}

// Scaling returns a handler that converts ownership of an object to its scale (ToSubresource), and back after
// a write of the scale (ToParent). owned are the object's managedFields, and apiVersion is the version of the
// request. Scaling returns an error if apiVersion is invalid.
func Scaling(k kind.Kind, sub *kind.Subresource, apiVersion string,
	owned []metav1.ManagedFieldsEntry) (*managedfields.ScaleHandler, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	paths := managedfields.ResourcePathMappings{}
	for i := range k.Info().Endpoints {
		version := k.Info().Endpoints[i].APIVersion()
		path, ok := sub.Replicas[version]
		if sub.Replicas == nil {
			path, ok = "spec.replicas", true
		}
		if !ok {
			paths[version] = nil // the version has no scale
			continue
		}
		paths[version] = dotted(path)
	}
	return managedfields.NewScaleHandler(owned, gv, paths), nil
}

// prefix returns a matcher of the fields below a path such as spec.containers.*.resources, in which * stands for any
// item.
func prefix(path string) *fieldpath.SetMatcher {
	var parts []any
	for name := range strings.SplitSeq(path, ".") {
		if name == "*" {
			parts = append(parts, fieldpath.MatchAnyPathElement())
		} else {
			parts = append(parts, name)
		}
	}
	return fieldpath.MakePrefixMatcherOrDie(parts...)
}

// dotted parses a path such as .spec.replicas.
func dotted(path string) fieldpath.Path {
	var p fieldpath.Path
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
		p = append(p, fieldpath.PathElement{FieldName: &name})
	}
	return p
}
