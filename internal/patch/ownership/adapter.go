package ownership

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// adapter implements the library's interfaces for a kind.
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
		return nil, fmt.Errorf("the applied object has the unexpected type %T", v.AsValue().Unstructured())
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// ConvertToVersion implements runtime.ObjectConvertor. A not-registered error reports that a version does not
// exist (any longer): the library then drops the ownership in that version. As in Kubernetes, a custom
// resource retains the fields that the version does not define, so that an apply to a field owned in that
// version is rejected as undeclared.
func (a adapter) ConvertToVersion(obj runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	gv, ok := to.(schema.GroupVersion)
	if !ok {
		return nil, fmt.Errorf("conversion to %s: want one version", to.Identifier())
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

// Default implements runtime.ObjectDefaulter. It does nothing: the server decodes the result of an apply like
// a request body, which applies defaults.
func (a adapter) Default(runtime.Object) {}

// Convert implements runtime.ObjectConvertor; the library does not call it.
func (a adapter) Convert(_, _, _ any) error {
	return fmt.Errorf("ownership converts objects to versions only")
}

// ConvertFieldLabel implements runtime.ObjectConvertor; the library does not call it.
func (a adapter) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", fmt.Errorf("ownership converts no field labels")
}
