package patch

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/object"
)

// Undecodable is the answer to a patch whose result, next, cannot be decoded: err says why. It shows the result, or, of
// a strategic merge patch, the patch itself, whose result Kubernetes never has as JSON.
func Undecodable(t types.PatchType, patch, next []byte, prototype runtime.Object, err error) error {
	if t == types.StrategicMergePatchType {
		err = conversionError(next, prototype, err)
	}
	return invalid(shown(t, patch, next), err.Error())
}

// NotStrict is the answer to a patch that is to be read strictly, and of which fields were found that stand twice or
// that the schema does not know.
func NotStrict(t types.PatchType, patch, next []byte, found []string) error {
	return invalid(shown(t, patch, next), "strict decoding error: "+strings.Join(found, ", "))
}

func invalid(value, detail string) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), value, detail)})
}

func shown(t types.PatchType, patch, next []byte) string {
	if t != types.StrategicMergePatchType {
		return string(next)
	}
	var change map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(patch, &change); err != nil {
		return string(patch)
	}
	return fmt.Sprintf("%+v", change)
}

// conversionError is why a map does not fit the struct, in the words of the conversion that Kubernetes takes for
// strategic merge patches; or err, when it knows no reason.
func conversionError(next []byte, prototype runtime.Object, err error) error {
	var content map[string]any
	next = kind.MaskVast(object.JSON, next) // the conversion parses quantities
	if kjson.UnmarshalCaseSensitivePreserveInts(next, &content) != nil {
		return err
	}
	into := prototype.DeepCopyObject()
	if reason := runtime.DefaultUnstructuredConverter.FromUnstructured(content, into); reason != nil {
		return reason
	}
	return err
}
