// Package patch makes the next state of an object from its current one and a description of the change: a JSON Patch
// (RFC 6902), a merge patch (RFC 7386) or a strategic merge patch (Kubernetes' own, which knows from the struct tags of
// a kind how lists are merged). All are pure functions over JSON in the version of the request.
//
// The package does not read objects and does not judge them: the server encodes the current object in the version of
// the URL, calls Apply, decodes the result like a request (kind.Kind's DecodeRequest, which also finds unknown fields)
// and takes it through admission and validation as it does an update. Errors are answers: metav1 Statuses with the codes
// and texts of Kubernetes 1.36 (k8s.io/apiserver/pkg/endpoints/handlers/patch.go), ready for the wire.
package patch

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// Apply makes the next state of an object: current and next are its JSON in the version of the request. prototype is an
// empty struct of that version, whose tags direct a strategic merge patch; other patches leave it alone.
//
// strict are the fields that stand twice in the patch, for the caller to refuse or to warn of; with lenient they are not
// searched for. An error is the whole answer to the request; the object that the patch makes is not looked at here, see
// Undecodable.
func Apply(t types.PatchType, current, patch []byte, prototype runtime.Object, lenient bool) (next []byte, strict []string, err error) {
	switch t {
	case types.JSONPatchType:
		return applyJSON(current, patch, lenient)
	case types.MergePatchType:
		return applyMerge(current, patch, lenient)
	case types.StrategicMergePatchType:
		return applyStrategic(current, patch, prototype, lenient)
	}
	return nil, nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", noResource, "", "415: Unsupported Media Type", 0, false)
}

// decodeStrict reads a patch into a Go value, and names the fields that stand twice or do not belong there.
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
