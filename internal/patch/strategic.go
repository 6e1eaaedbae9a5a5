package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/kind"
)

func applyStrategic(current, patch []byte, prototype runtime.Object,
	lenient bool) (next []byte, strict []string, err error) {
	change, strict, err := decodeStrategic(patch, lenient)
	if err != nil {
		return nil, nil, err
	}
	was, err := decodeNamedFields(current, change)
	if err != nil {
		return nil, nil, err
	}
	is, err := mergeStrategic(was, change, prototype)
	if err != nil {
		return nil, nil, err
	}
	next, err = json.Marshal(is)
	return next, strict, err
}

// mergeStrategic merges change into stored, and modifies both. It returns a 400 if the library panics, as it does if
// the key of a list item is an object.
func mergeStrategic(stored, change map[string]any, prototype runtime.Object) (merged map[string]any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			merged, err = nil, apierrors.NewBadRequest(fmt.Sprintf("invalid strategic merge patch: %v", panicked))
		}
	}()
	types, err := strategicpatch.NewPatchMetaFromStruct(prototype)
	if err != nil {
		return nil, strategicError(err)
	}
	tags := objectTags{types}
	if err := checkDeletions(change); err != nil {
		return nil, err
	}
	if err := checkComparisons(stored, change, tags); err != nil {
		return nil, err
	}
	merged, err = strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(stored, change, tags)
	if err != nil {
		return nil, strategicError(err)
	}
	return merged, nil
}

// decodeNamedFields decodes the fields of an object that a patch names, and leaves the values of the others as JSON.
// A top-level directive (a name that starts with $) applies to all fields.
func decodeNamedFields(current []byte, change map[string]any) (map[string]any, error) {
	var fields map[string]json.RawMessage
	if err := kjson.UnmarshalCaseSensitivePreserveInts(current, &fields); err != nil {
		return nil, err
	}
	all := false
	for name := range change {
		all = all || strings.HasPrefix(name, "$")
	}
	was := make(map[string]any, len(fields))
	for name, text := range fields {
		if _, named := change[name]; !named && !all {
			was[name] = text
			continue
		}
		var v any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &v); err != nil {
			return nil, err
		}
		was[name] = v
	}
	return was, nil
}

// objectTags provides the tags of an object, and adds those of metadata.initializers, for which the struct
// has no field.
type objectTags struct{ strategicpatch.LookupPatchMeta }

// LookupPatchMetadataForStruct implements strategicpatch.LookupPatchMeta.
func (o objectTags) LookupPatchMetadataForStruct(
	name string,
) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	tags, own, err := o.LookupPatchMeta.LookupPatchMetadataForStruct(name)
	if err == nil && name == "metadata" {
		tags = metadataTags{tags}
	}
	return tags, own, err
}

// metadataTags provides the tags of the metadata.
type metadataTags struct{ strategicpatch.LookupPatchMeta }

// LookupPatchMetadataForStruct implements strategicpatch.LookupPatchMeta.
func (m metadataTags) LookupPatchMetadataForStruct(
	name string,
) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	if name != "initializers" {
		return m.LookupPatchMeta.LookupPatchMetadataForStruct(name)
	}
	tags, err := strategicpatch.NewPatchMetaFromStruct(kind.Initializers{})
	return tags, strategicpatch.PatchMeta{}, err
}

// decodeStrategic decodes a strategic merge patch. Unlike those of other patches, its errors have no prefix.
func decodeStrategic(patch []byte, lenient bool) (change map[string]any, strict []string, err error) {
	change = map[string]any{}
	if lenient {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(patch, &change); err != nil {
			return nil, nil, apierrors.NewBadRequest(err.Error())
		}
		return change, nil, nil
	}
	found, err := kjson.UnmarshalStrict(patch, &change)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	for _, f := range found {
		strict = append(strict, f.Error())
	}
	return change, strict, nil
}

// badRequestErrors are errors of malformed patches (400), and unprocessableErrors errors of patches that do not fit
// the object (422). Other errors, such as an item without its merge key, are a 500 without a reason.
var (
	badRequestErrors = []error{
		mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList,
		mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	}
	unprocessableErrors = []error{mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys}
)

func strategicError(err error) error {
	for _, bad := range badRequestErrors {
		if errors.Is(err, bad) {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	for _, unfit := range unprocessableErrors {
		if errors.Is(err, unfit) {
			return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", noResource, "", err.Error(),
				0, false)
		}
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error(),
	}}
}
