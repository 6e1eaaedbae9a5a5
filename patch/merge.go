package patch

import (
	"errors"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func applyMerge(current, patch []byte, lenient bool) (next []byte, strict []string, err error) {
	if !lenient {
		if strict, err = decodeStrict(patch, &map[string]any{}, ""); err != nil {
			return nil, nil, err
		}
	}
	next, err = jsonpatch.MergePatch(current, patch)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	return next, strict, err
}
