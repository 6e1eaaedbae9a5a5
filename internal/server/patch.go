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
	"github.com/bowline-dev/bowline/internal/patch"
	"github.com/bowline-dev/bowline/object"
)

// patch changes an object by a description of the change. The patch acts on the version that the URL names; the
// result goes the way of an update.
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

// patchType is the kind of patch that the body is, of those that the resource takes.
func (c *call) patchType() (types.PatchType, error) {
	t := types.PatchType(bodyMedia(c.http))
	switch t {
	case types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType:
		return t, nil
	case types.StrategicMergePatchType:
		if c.protobuf() {
			return t, nil
		}
		return "", unsupportedMedia(acceptedPatches(false)...)
	case types.ApplyCBORPatchType:
		return "", unsupportedMedia(acceptedPatches(c.protobuf())...)
	}
	return "", generic(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type")
}

func acceptedPatches(strategic bool) []string {
	accepted := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if strategic {
		accepted = append(accepted, string(types.StrategicMergePatchType))
	}
	return append(accepted, string(types.ApplyYAMLPatchType))
}

// patched is the current object with the patch applied, read back like a request.
func (s *Server) patched(c *call, o writeOptions, t types.PatchType, current kind.Object, body []byte) (kind.Object, error) {
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
		return nil, patch.Undecodable(t, body, after, c.kind.Prototype(version), err)
	}
	if err := c.patchStrictness(o, t, body, after, append(strict, unknown...)); err != nil {
		return nil, err
	}
	return obj, c.matchURL(obj)
}

// patchedMaps is the current object with a merge patch applied where both are maps: a custom resource. plain is false where
// there is anything to say of the patch or of what it makes: the way over texts says it.
func (c *call) patchedMaps(o writeOptions, t types.PatchType, current kind.Object, body []byte) (patched kind.Object, plain bool) {
	receiver, ok := c.kind.(kind.MapReceiver)
	u, isMap := current.(*unstructured.Unstructured)
	if !ok || !isMap || t != types.MergePatchType || u.GroupVersionKind() != c.gvk() || hasFloat(u.Object) {
		return nil, false
	}
	lenient := !o.strict && !o.warn
	change, plain := patch.ReadMerge(body, lenient)
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

// hasFloat says whether there is a number in decoded JSON that is not known to be an integer. Its text may be read as one.
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

// patchedKind refuses a patch that makes another kind of the object.
func (s *Server) patchedKind(c *call, t types.PatchType, body, after []byte) error {
	own := c.gvk()
	prototype := c.kind.Prototype(own.GroupVersion().String())
	gvk, err := kjsonmeta.DefaultMetaFactory.Interpret(after)
	if err != nil {
		return patch.Undecodable(t, body, after, prototype, err)
	}
	switch {
	case *gvk == own:
		return nil
	case gvk.Kind != own.Kind && c.protobuf():
		if other, ok := s.kindNamed(*gvk); ok { // which its body may not even fit
			if _, _, err := other.DecodeRequest(object.Form{APIVersion: gvk.GroupVersion().String()}, after, true); err != nil {
				return patch.Undecodable(t, body, after, prototype, err)
			}
		}
		return patch.Undecodable(t, body, after, prototype, fmt.Errorf("unable to decode \"patch\": converting (%s.%s) to (%s.%s): unknown conversion", gvk.Version, gvk.Kind, own.Version, own.Kind))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", gvk.Kind, gvk.GroupVersion(), own.Kind))
}

// patchStrictness acts on fields of a patch that stand twice, or that the schema does not know.
func (c *call) patchStrictness(o writeOptions, t types.PatchType, body, after []byte, found []string) error {
	if len(found) > 0 && o.strict {
		return patch.NotStrict(t, body, after, found)
	}
	for _, f := range found {
		if o.warn {
			c.warn(f)
		}
	}
	return nil
}

func invalidVersion(v string) field.ErrorList {
	return field.ErrorList{field.Invalid(metadataPath.Child("resourceVersion"), v, "must be specified for an update, as the server gave it")}
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

// patchedView is what a subresource shows with a patch applied, read back like a request.
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
		return nil, patch.Undecodable(t, body, after, c.sub.New(), err)
	}
	return next, c.patchStrictness(o, t, body, after, append(strict, found...))
}

// applied writes a subresource's body into an object, with the revision that the body names. One that names the uid of another
// object is for that one, which had the name before.
func (c *call) applied(current kind.Object, body runtime.Object) (kind.Object, error) {
	if m, ok := body.(metav1.Object); ok {
		if err := c.matchURL(m); err != nil {
			return nil, err
		}
		if uid := m.GetUID(); uid != "" && uid != current.GetUID() {
			what := schema.GroupResource{Group: c.gvr.Group, Resource: c.gvr.Resource + "/" + c.subresource}
			return nil, apierrors.NewConflict(what, c.name, // in Kubernetes' words
				fmt.Errorf("%s: UID in precondition: %v, UID in object meta: %v", "Precondition failed", uid, current.GetUID()))
		}
		defer current.SetResourceVersion(m.GetResourceVersion())
	}
	return current, c.sub.Apply(current, body)
}
