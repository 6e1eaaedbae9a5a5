package server

import (
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjsonmeta "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/patch"
)

// patch serves all patches. The patch is applied in the version that the URL names; the result is written
// like an update.
func (s *Server) patch(c *call) error {
	if err := c.negotiate(asTable, asPartial); err != nil {
		return err
	}
	patchType, err := c.patchType()
	if err != nil {
		return err
	}
	o, err := patchOptions(c.http, patchType)
	if err != nil {
		return err
	}
	c.spans.at(stageDecode)
	body, err := c.readBody()
	if err != nil {
		return err
	}
	if c.sub != nil && c.sub.Apply != nil {
		return s.patchSubresource(c, o, patchType, body)
	}
	if patchType == types.ApplyYAMLPatchType {
		return s.apply(c, o, body)
	}
	w, err := s.write(c, o, func(current kind.Object) (kind.Object, error) {
		return s.patched(c, o, patchType, current, body)
	})
	if err != nil {
		return err
	}
	return s.answerWritten(c, w)
}

// patchType returns the type of the patch, if the resource supports it.
func (c *call) patchType() (types.PatchType, error) {
	t := types.PatchType(bodyMedia(c.http))
	switch t {
	case types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType:
		return t, nil
	case types.StrategicMergePatchType:
		if c.builtin() {
			return t, nil
		}
		return "", unsupportedMedia(acceptedPatches(false)...)
	case types.ApplyCBORPatchType:
		return "", unsupportedMedia(acceptedPatches(c.builtin())...)
	}
	return "", generic(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"415: Unsupported Media Type")
}

func acceptedPatches(strategic bool) []string {
	accepted := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if strategic {
		accepted = append(accepted, string(types.StrategicMergePatchType))
	}
	return append(accepted, string(types.ApplyYAMLPatchType))
}

// patched applies the patch to the current object and decodes the result like a request.
func (s *Server) patched(c *call, o writeOptions, t types.PatchType, current kind.Object,
	body []byte) (kind.Object, error) {
	if obj, plain := c.patchedMaps(o, t, current, body); plain {
		return obj, c.matchURL(obj)
	}
	if obj, plain := c.patchedMetadata(o, t, current, body); plain {
		return obj, c.matchURL(obj)
	}
	version := c.endpoint.APIVersion()
	before, err := c.kind.Encode(object.Form{APIVersion: version}, current)
	if err != nil {
		return nil, err
	}
	after, strict, err := patch.Apply(t, before, body, c.kind.Prototype(version), !o.strict && !o.warn)
	if err != nil {
		return nil, err
	}
	if err := s.patchedKind(c, t, body, after); err != nil {
		return nil, err
	}
	obj, unknown, err := c.received(object.Form{APIVersion: version}, after, !o.strict && !o.warn)
	if err != nil {
		return nil, patch.DecodeError(t, body, after, c.kind.Prototype(version), err)
	}
	if err := c.patchStrictness(o, t, body, after, append(strict, unknown...)); err != nil {
		return nil, err
	}
	return obj, c.matchURL(obj)
}

// patchedMaps applies a merge patch to a custom resource without encoding it. If plain is false, the patch or
// its result may be invalid; the caller applies it to the encoded object, which finds the error.
func (c *call) patchedMaps(o writeOptions, t types.PatchType, current kind.Object,
	body []byte) (patched kind.Object, plain bool) {
	receiver, ok := c.kind.(kind.Custom)
	u, isMap := current.(*unstructured.Unstructured)
	if !ok || !isMap || t != types.MergePatchType || u.GroupVersionKind() != c.gvk() || hasFloat(u.Object) {
		return nil, false
	}
	lenient := !o.strict && !o.warn
	change, plain := patch.DecodeMerge(body, lenient)
	if !plain {
		return nil, false
	}
	next := u.DeepCopy()
	patch.Merge(next.Object, change)
	if next.GroupVersionKind() != c.gvk() {
		return nil, false
	}
	obj, strict, err := receiver.ReceiveMap(next, lenient)
	c.spans.at(stageConvert)
	return obj, err == nil && len(strict) == 0
}

// hasFloat reports whether decoded JSON contains a float64: its text may be decoded as an integer.
func hasFloat(value any) bool {
	switch value := value.(type) {
	case float64:
		return true
	case map[string]any:
		for _, part := range value {
			if hasFloat(part) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, hasFloat)
	}
	return false
}

// patchedKind returns a 400 if the patch changes the object's kind or version.
func (s *Server) patchedKind(c *call, t types.PatchType, body, after []byte) error {
	own := c.gvk()
	prototype := c.kind.Prototype(own.GroupVersion().String())
	gvk, err := kjsonmeta.DefaultMetaFactory.Interpret(after)
	if err != nil {
		return patch.DecodeError(t, body, after, prototype, err)
	}
	switch {
	case *gvk == own:
		return nil
	case gvk.Kind != own.Kind && c.builtin():
		if other, ok := s.kindNamed(*gvk); ok { // a mismatch of the body is reported first
			if _, _, err := other.DecodeRequest(object.Form{APIVersion: gvk.GroupVersion().String()}, after,
				true); err != nil {
				return patch.DecodeError(t, body, after, prototype, err)
			}
		}
		return patch.DecodeError(t, body, after, prototype,
			fmt.Errorf("unable to decode \"patch\": converting (%s.%s) to (%s.%s): unknown conversion", gvk.Version,
				gvk.Kind, own.Version, own.Kind))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", gvk.Kind,
		gvk.GroupVersion(), own.Kind))
}

// patchStrictness rejects or warns about duplicate and unknown fields, as the options demand.
func (c *call) patchStrictness(o writeOptions, t types.PatchType, body, after []byte, found []string) error {
	if len(found) > 0 && o.strict {
		return patch.StrictError(t, body, after, found)
	}
	for _, f := range found {
		if o.warn {
			c.warn(f)
		}
	}
	return nil
}

func invalidVersion(v string) field.ErrorList {
	return field.ErrorList{field.Invalid(metadataPath.Child("resourceVersion"), v,
		"must be specified for an update, as the server gave it")}
}

// patchSubresource patches what a subresource shows, and applies the result to the object.
func (s *Server) patchSubresource(c *call, o writeOptions, t types.PatchType, body []byte) error {
	next := func(view kind.Object) (runtime.Object, error) { return c.patchedView(o, t, view, body) }
	if t == types.ApplyYAMLPatchType {
		document, twice, err := readDocument(body)
		if err != nil {
			return err
		}
		o.owned = true
		next = func(view kind.Object) (runtime.Object, error) {
			merged, err := s.mergedView(c, o, view, document, body)
			if err != nil {
				return nil, err
			}
			return merged, c.oneOfEach(o, twice)
		}
	}
	w, err := s.writeView(c, o, next)
	if err != nil {
		return err
	}
	return s.answerWritten(c, w)
}

// patchedView applies a patch to what a subresource shows and decodes the result like a request.
func (c *call) patchedView(o writeOptions, t types.PatchType, view kind.Object, body []byte) (runtime.Object, error) {
	before, err := kind.Marshal(object.JSON, view)
	if err != nil {
		return nil, err
	}
	after, strict, err := patch.Apply(t, before, body, c.sub.New(), !o.strict && !o.warn)
	if err != nil {
		return nil, err
	}
	next, found, err := readTyped(after, c.sub.New, o)
	if err != nil {
		return nil, patch.DecodeError(t, body, after, c.sub.New(), err)
	}
	return next, c.patchStrictness(o, t, body, after, append(strict, found...))
}

// applied writes a subresource's body into an object, with the resourceVersion of the body. A body with the
// uid of another object is a conflict.
func (c *call) applied(current kind.Object, body runtime.Object) (kind.Object, error) {
	if m, ok := body.(metav1.Object); ok {
		if err := c.matchURL(m); err != nil {
			return nil, err
		}
		if uid := m.GetUID(); uid != "" && uid != current.GetUID() {
			what := schema.GroupResource{Group: c.gvr.Group, Resource: c.gvr.Resource + "/" + c.subresource}
			return nil, apierrors.NewConflict(what, c.name, // Kubernetes' text
				fmt.Errorf("%s: UID in precondition: %v, UID in object meta: %v", "Precondition failed", uid,
					current.GetUID()))
		}
		defer current.SetResourceVersion(m.GetResourceVersion())
	}
	return current, c.sub.Apply(current, body)
}
