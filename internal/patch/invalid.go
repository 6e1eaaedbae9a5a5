package patch

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// DecodeError returns the response for a patch whose result, next, cannot be decoded; err is the decoding
// error. The response shows the result or, for a strategic merge patch, the patch itself, because Kubernetes
// never has that result as JSON.
func DecodeError(t types.PatchType, patch, next []byte, prototype runtime.Object, err error) error {
	if t == types.StrategicMergePatchType {
		err = conversionError(next, prototype, err)
	}
	return invalid(shownValue(t, patch, next), err.Error())
}

// StrictError returns the response for a patch with strict field validation in which unknown or duplicate
// fields were found.
func StrictError(t types.PatchType, patch, next []byte, found []string) error {
	return invalid(shownValue(t, patch, next), "strict decoding error: "+strings.Join(found, ", "))
}

func invalid(value, detail string) error {
	return kind.NewInvalid(schema.GroupKind{}, "",
		field.ErrorList{field.Invalid(field.NewPath("patch"), value, detail)})
}

func shownValue(t types.PatchType, patch, next []byte) string {
	if t != types.StrategicMergePatchType {
		return string(next)
	}
	var change map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(patch, &change); err != nil {
		return string(patch)
	}
	return fmt.Sprintf("%+v", change)
}

// conversionError decodes next in the way that Kubernetes converts the result of a strategic merge patch to a struct,
// and returns the error of that, whose text differs from err. It returns err if the conversion succeeds.
func conversionError(next []byte, prototype runtime.Object, err error) error {
	var content map[string]any
	next = kind.MaskHugeQuantities(object.JSON, next) // the conversion parses quantities
	if kjson.UnmarshalCaseSensitivePreserveInts(next, &content) != nil {
		return err
	}
	into := prototype.DeepCopyObject()
	if reason := runtime.DefaultUnstructuredConverter.FromUnstructured(content, into); reason != nil {
		return reason
	}
	return err
}
