package policy

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sadmission "k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/plugins/matching"
)

// subject is a write as the expressions of a policy see it, in a version of the resource. All policies that match in
// this version share it.
type subject struct {
	of                         *matching.Subject
	object, oldObject, request ref.Val
	attributes                 k8sadmission.Attributes
}

// newSubject returns a write in a version. The values refer to the objects of the write, without a copy, unless the
// version needs a conversion.
func newSubject(a *admission.Attributes, gv schema.GroupVersion) (*subject, error) {
	of, err := matching.NewSubject(a, gv)
	if err != nil {
		return nil, err
	}
	s := &subject{of: of, object: valueOf(of.Now), oldObject: valueOf(of.Before), attributes: of.Record()}
	s.request = common.SchemalessTypedToVal(plugincel.CreateAdmissionRequest(s.attributes,
		metav1.GroupVersionResource(gv.WithResource(a.Resource.Resource)), metav1.GroupVersionKind(of.Kind)))
	return s, nil
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
