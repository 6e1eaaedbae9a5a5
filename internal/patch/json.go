package patch

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxOperations is the maximum number of operations in a JSON Patch.
const maxOperations = 10000

var noResource schema.GroupResource

// operation is a step of a JSON Patch. It is decoded only to find unknown and duplicate fields.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

func applyJSON(current, patch []byte, lenient bool) (next []byte, strict []string, err error) {
	if !lenient {
		var steps []operation
		if strict, err = decodeStrict(patch, &steps, "json patch "); err != nil {
			return nil, nil, nameOperations(err)
		}
	}
	steps, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if len(steps) > maxOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(steps)))
	}
	if next, err = Steps(steps, current); err != nil {
		return nil, nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", noResource, "",
			err.Error(), 0, false)
	}
	return next, strict, nil
}

// nameOperations replaces the name of type operation in an error by that of Kubernetes.
func nameOperations(err error) error {
	status := err.(*apierrors.StatusError)
	own := reflect.TypeFor[operation]().String()
	status.ErrStatus.Message = strings.ReplaceAll(status.ErrStatus.Message, own, "handlers.jsonPatchOp")
	return status
}
