// Package patch turns the current state of an object and a patch of it into the next state: JSON Patch (RFC 6902), merge
// patch (RFC 7386) and strategic merge patch (Kubernetes' API conventions). Its functions are pure: bytes in, bytes out.
//
// Both states are JSON in the version that the request names. The package does not know whether the result is an object
// of its kind: the server decodes it afterwards, with the same strictness as any other body, and says which fields are
// unknown. Errors are Status errors, with Kubernetes' codes and texts.
package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"
)

// MaxOperations is how many operations a JSON Patch may have.
const MaxOperations = 10000

// Apply makes the next state. prototype directs a strategic merge by its struct tags. strict names duplicate fields of
// the patch; with lenient nobody looks for them.
func Apply(t types.PatchType, current, patch []byte, prototype runtime.Object, lenient bool) (next []byte, strict []string, err error) {
	switch t {
	case types.JSONPatchType:
		return applyJSON(current, patch, lenient)
	case types.MergePatchType:
		return applyMerge(current, patch, lenient)
	case types.StrategicMergePatchType:
		return applyStrategic(current, patch, prototype, lenient)
	}
	return nil, nil, fmt.Errorf("%q is no type of patch that is known here", t)
}

// applyJSON carries out the operations of a JSON Patch.
func applyJSON(current, patch []byte, lenient bool) ([]byte, []string, error) {
	var ops []jsonPatchOp
	strict, err := decode(patch, &ops, lenient)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	if len(ops) > MaxOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", MaxOperations, len(ops)))
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	next, err := decoded.Apply(current)
	if err != nil {
		return nil, nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return next, strict, nil
}

// jsonPatchOp is one operation, as far as it is looked at before it is carried out.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// applyMerge merges maps; everything else of the patch replaces what it names, and null removes it.
func applyMerge(current, patch []byte, lenient bool) ([]byte, []string, error) {
	var decoded map[string]any
	strict, err := decode(patch, &decoded, lenient)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	next, err := jsonpatch.MergePatch(current, patch)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	return next, strict, nil
}

// applyStrategic merges as the tags of the prototype say: lists of objects by their merge key, with the directives
// $patch, $setElementOrder, $deleteFromPrimitiveList and $retainKeys.
func applyStrategic(current, patch []byte, prototype runtime.Object, lenient bool) ([]byte, []string, error) {
	var changes map[string]any
	strict, err := decode(patch, &changes, lenient)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	var was map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(current, &was); err != nil {
		return nil, nil, err
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(was, changes, prototype)
	if err != nil {
		return nil, nil, strategicError(err)
	}
	next, err := json.Marshal(merged)
	return next, strict, err
}

// strategicError gives the errors of a strategic merge their codes.
func strategicError(err error) error {
	for _, bad := range []error{
		mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	} {
		if errors.Is(err, bad) {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	if errors.Is(err, mergepatch.ErrNoListOfLists) {
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error(),
	}}
}

// decode reads JSON and, unless lenient, finds fields that stand twice.
func decode(data []byte, into any, lenient bool) (strict []string, err error) {
	if lenient {
		return nil, kjson.UnmarshalCaseSensitivePreserveInts(data, into)
	}
	errs, err := kjson.UnmarshalStrict(data, into, kjson.DisallowDuplicateFields)
	for _, e := range errs {
		strict = append(strict, e.Error())
	}
	return strict, err
}
