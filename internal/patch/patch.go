// Package patch applies patches to objects: JSON Patches (RFC 6902), merge patches (RFC 7386) and strategic
// merge patches (Kubernetes' own format, in which the struct tags of a kind define how lists are merged). Its
// functions are pure and work on JSON in the version of the request.
//
// The package neither loads nor validates objects: the server encodes the current object in the version of
// the URL, calls Apply, decodes the result like a request body (kind.Kind's DecodeRequest, which also finds
// unknown fields), and continues with admission and validation as for an update. Errors are metav1 Statuses
// with the codes and messages of Kubernetes 1.36 (k8s.io/apiserver/pkg/endpoints/handlers/patch.go), ready to
// be sent.
package patch

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// Apply applies a patch to an object. current and next are JSON in the version of the request. prototype is
// an empty struct of that version, whose tags direct a strategic merge patch; other patches do not use it.
//
// strict lists the duplicate fields in the patch, for the caller to reject or to warn about; with lenient
// they are not searched for. An error is the complete response to the request. Apply does not validate the
// patched object; see DecodeError.
func Apply(t types.PatchType, current, patch []byte, prototype runtime.Object,
	lenient bool) (next []byte, strict []string, err error) {
	switch t {
	case types.JSONPatchType:
		return applyJSON(current, patch, lenient)
	case types.MergePatchType:
		return applyMerge(current, patch, lenient)
	case types.StrategicMergePatchType:
		return applyStrategic(current, patch, prototype, lenient)
	}
	return nil, nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", noResource, "",
		"415: Unsupported Media Type", 0, false)
}

// decodeStrict decodes a patch into a Go value, and returns the unknown and duplicate fields.
func decodeStrict(patch []byte, into any, prefix string) (strict []string, err error) {
	found, err := kjson.UnmarshalStrict(patch, into)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	for _, f := range found {
		strict = append(strict, prefix+f.Error())
	}
	return strict, nil
}
