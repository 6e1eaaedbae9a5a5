package patch

import (
	"encoding/json"
	"errors"
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

func applyStrategic(current, patch []byte, prototype runtime.Object, lenient bool) (next []byte, strict []string, err error) {
	change, strict, err := decodeStrategic(patch, lenient)
	if err != nil {
		return nil, nil, err
	}
	was, err := concerned(current, change)
	if err != nil {
		return nil, nil, err
	}
	tags, err := strategicpatch.NewPatchMetaFromStruct(prototype)
	if err != nil {
		return nil, nil, strategicError(err)
	}
	is, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(was, change, objectTags{tags})
	if err != nil {
		return nil, nil, strategicError(err)
	}
	next, err = json.Marshal(is)
	return next, strict, err
}

// concerned is an object as far as a change is about it: the values of those fields that it does not name stay as they are written.
// What begins with a $ is about all of them.
func concerned(current []byte, change map[string]any) (map[string]any, error) {
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

// objectTags are the tags of an object, with those of metadata.initializers, for which its struct has no field.
type objectTags struct{ strategicpatch.LookupPatchMeta }

// LookupPatchMetadataForStruct implements strategicpatch.LookupPatchMeta.
func (o objectTags) LookupPatchMetadataForStruct(name string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	tags, own, err := o.LookupPatchMeta.LookupPatchMetadataForStruct(name)
	if err == nil && name == "metadata" {
		tags = metadataTags{tags}
	}
	return tags, own, err
}

// metadataTags are those of the metadata.
type metadataTags struct{ strategicpatch.LookupPatchMeta }

// LookupPatchMetadataForStruct implements strategicpatch.LookupPatchMeta.
func (m metadataTags) LookupPatchMetadataForStruct(name string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	if name != "initializers" {
		return m.LookupPatchMeta.LookupPatchMetadataForStruct(name)
	}
	tags, err := strategicpatch.NewPatchMetaFromStruct(kind.Initializers{})
	return tags, strategicpatch.PatchMeta{}, err
}

// decodeStrategic reads a strategic merge patch. Its errors have no words before them, unlike those of other patches.
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

// badStrategic are the errors of a patch that is not well formed, unfitStrategic those of one that does not fit the
// object. Others, such as an item without its merge key, are a 500 without a reason.
var (
	badStrategic = []error{
		mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	}
	unfitStrategic = []error{mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys}
)

func strategicError(err error) error {
	for _, bad := range badStrategic {
		if errors.Is(err, bad) {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	for _, unfit := range unfitStrategic {
		if errors.Is(err, unfit) {
			return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", noResource, "", err.Error(), 0, false)
		}
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error(),
	}}
}
