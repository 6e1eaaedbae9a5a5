package policy

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sadmission "k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

// subject is a write as the expressions of a policy see it, in a version of the resource. All policies that match in
// this version share it.
type subject struct {
	object, oldObject, request ref.Val
	attributes                 k8sadmission.Attributes
}

// newSubject returns a write in a version. The values refer to the objects of the write, without a copy, unless the
// version needs a conversion.
func newSubject(a *admission.Attributes, gv schema.GroupVersion) (*subject, error) {
	gvk, requestKind := gv.WithKind(a.Kind.Kind), a.Kind
	sub := a.ServedKind.Info().Subresource(a.Subresource)
	if sub != nil && (sub.View != nil || sub.New != nil && sub.Kind == a.Kind) {
		gvk, requestKind = sub.Kind, sub.Kind
	} else {
		sub = nil
	}
	now, err := view(a, a.Object, gv, sub)
	if err != nil {
		return nil, err
	}
	old, err := view(a, a.Old, gv, sub)
	if err != nil {
		return nil, err
	}
	s := &subject{object: valueOf(now), oldObject: valueOf(old)}
	s.attributes = k8sadmission.NewAttributesRecord(now, old, requestKind, namespaceOf(a), a.Name, a.Resource,
		a.Subresource, k8sadmission.Operation(a.Operation), options(a), a.DryRun,
		&user.DefaultInfo{Name: a.User, Groups: a.Groups, Extra: a.Extra})
	s.request = common.SchemalessTypedToVal(plugincel.CreateAdmissionRequest(s.attributes,
		metav1.GroupVersionResource(gv.WithResource(a.Resource.Resource)), metav1.GroupVersionKind(gvk)))
	return s, nil
}

// view returns an object in a version, or the view of it that a subresource has. It is nil for a nil object.
func view(a *admission.Attributes, obj kind.Object, gv schema.GroupVersion,
	sub *kind.Subresource) (shown runtime.Object, err error) {
	switch {
	case obj == nil:
		return nil, nil
	case sub == nil:
		shown, err = a.ServedKind.Convert(obj, gv.String())
	case sub.View == nil:
		shown = obj
	default:
		shown, err = sub.View(obj)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return shown, nil
}

// valueOf returns the CEL value of an object, which refers to the object; null for nil.
func valueOf(obj runtime.Object) ref.Val {
	if obj == nil {
		return types.NullValue
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return types.DefaultTypeAdapter.NativeToValue(u.Object)
	}
	return common.SchemalessTypedToVal(obj)
}

// options returns the options of a write as expressions see them.
func options(a *admission.Attributes) runtime.Object {
	var dryRun []string
	if a.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	of := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: kind} }
	switch a.Operation {
	case admission.Create:
		return &metav1.CreateOptions{TypeMeta: of("CreateOptions"), DryRun: dryRun, FieldManager: a.FieldManager,
			FieldValidation: a.FieldValidation}
	case admission.Update:
		return &metav1.UpdateOptions{TypeMeta: of("UpdateOptions"), DryRun: dryRun, FieldManager: a.FieldManager,
			FieldValidation: a.FieldValidation}
	}
	options := &metav1.DeleteOptions{}
	if a.Deletion != nil {
		options = a.Deletion.DeepCopy()
	}
	options.TypeMeta = of("DeleteOptions")
	return options
}
