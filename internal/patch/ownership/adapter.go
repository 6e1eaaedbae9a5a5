package ownership

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// adapter is a kind as the library wants to see it.
type adapter struct{ *Owners }

var (
	_ managedfields.TypeConverter = adapter{}
	_ runtime.ObjectConvertor     = adapter{}
	_ runtime.ObjectDefaulter     = adapter{}
	_ runtime.ObjectCreater       = adapter{}
)

// ObjectToTyped implements managedfields.TypeConverter.
func (a adapter) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	t, err := a.typeOf(gvk)
	if err != nil {
		return nil, err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return t.FromUnstructured(u.Object, options...)
	}
	return t.FromStructured(obj, options...)
}

// TypedToObject implements managedfields.TypeConverter.
func (a adapter) TypedToObject(v *typed.TypedValue) (runtime.Object, error) {
	content, ok := v.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the applied object became a %T", v.AsValue().Unstructured())
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// ConvertToVersion implements runtime.ObjectConvertor. An error of the library's own type says that a version does not
// exist (any longer): what was owned in it is dropped. A custom resource keeps the fields that the version does not know, as in
// Kubernetes, so that an apply to what is owned in that version is refused: such a field is not declared there.
func (a adapter) ConvertToVersion(obj runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	gv, ok := to.(schema.GroupVersion)
	if !ok {
		return nil, fmt.Errorf("conversion to %s: want one version", to.Identifier())
	}
	if beside, ok := obj.(*besideOwnership); ok {
		obj = beside.Unstructured
	}
	from := obj.GetObjectKind().GroupVersionKind()
	if _, ok := a.form.kind(gv); !ok {
		return nil, runtime.NewNotRegisteredGVKErrForTarget("ownership", from, gv)
	}
	u, isMap := obj.(*unstructured.Unstructured)
	if !isMap {
		return a.form.convert(obj, gv.String())
	}
	if from.GroupVersion() == gv {
		return obj, nil
	}
	empty := a.form.empty(from)
	if _, custom := empty.(*unstructured.Unstructured); custom {
		return a.form.translate(u, gv.String())
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, empty); err != nil {
		return nil, err
	}
	return a.form.convert(empty, gv.String())
}

// New implements runtime.ObjectCreater.
func (a adapter) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	return a.form.empty(gvk), nil
}

// Default implements runtime.ObjectDefaulter. It does nothing: the server reads the result of an apply like a request,
// which sets defaults.
func (a adapter) Default(runtime.Object) {}

// Convert implements runtime.ObjectConvertor, for nobody.
func (a adapter) Convert(_, _, _ any) error {
	return fmt.Errorf("ownership converts objects to versions only")
}

// ConvertFieldLabel implements runtime.ObjectConvertor, for nobody.
func (a adapter) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", fmt.Errorf("ownership converts no field labels")
}
