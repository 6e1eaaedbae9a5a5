package write

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjsonmeta "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/patch"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
)

// Patch serves all patches. The patch is applied in the version that the URL names; the result is written like an
// update.
func (w *Writer) Patch(req *request.Request) (*request.Result, error) {
	t := types.PatchType(req.ContentType)
	switch {
	case t == types.JSONPatchType || t == types.MergePatchType || t == types.ApplyYAMLPatchType:
	case t == types.StrategicMergePatchType && req.Info.Builtin:
	case t == types.StrategicMergePatchType || t == types.ApplyCBORPatchType:
		accepted := []string{string(types.JSONPatchType), string(types.MergePatchType)}
		if req.Info.Builtin {
			accepted = append(accepted, string(types.StrategicMergePatchType))
		}
		return nil, status.UnsupportedMedia(append(accepted, string(types.ApplyYAMLPatchType))...)
	default:
		return nil, status.Generic(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"415: Unsupported Media Type")
	}
	o, err := req.WriteOptions(t)
	if err != nil {
		return nil, err
	}
	req.Spans.At(stage.Decode)
	body, err := req.Body.ReadBody()
	if err != nil {
		return nil, err
	}
	if t != types.ApplyYAMLPatchType {
		if err, ok := tooLarge(kind.CheckJSON(body)); ok {
			return nil, err
		}
	}
	op := &operation{Writer: w, req: req, WriteOptions: o}
	if t == types.ApplyYAMLPatchType {
		return op.apply(body)
	}
	p := &patching{operation: op, t: t, body: body}
	if req.Sub != nil && req.Sub.Apply != nil {
		return op.updateView(p.patchedView)
	}
	return op.update(p.patched)
}

// patching is an update whose new state is the current one with a patch applied.
type patching struct {
	*operation
	t    types.PatchType
	body []byte
}

// patched is the stage patch: it applies the patch to the current object and decodes the result like a request.
func (p *patching) patched(current kind.Object) (kind.Object, error) {
	req, k := p.req, p.req.Kind
	if req.Info.Builtin {
		if obj, plain := p.patchedMetadata(current); plain {
			return obj, p.matchURL(obj)
		}
	} else if obj, plain := p.patchedMaps(current); plain {
		return obj, p.matchURL(obj)
	}
	form, own := object.Form{APIVersion: req.Endpoint.APIVersion()}, req.GVK
	before, err := k.Encode(form, current)
	if err != nil {
		return nil, err
	}
	prototype := k.Prototype(form.APIVersion)
	after, found, err := patch.Apply(p.t, before, p.body, prototype, p.Lenient())
	if err != nil {
		return nil, err
	}
	gvk, err := kjsonmeta.DefaultMetaFactory.Interpret(after)
	if err != nil {
		return nil, patch.DecodeError(p.t, p.body, after, prototype, err)
	}
	if *gvk != own && req.Info.Builtin {
		if form.APIVersion, err = p.patchedVersion(*gvk, after); err != nil {
			return nil, err
		}
	}
	sent, unknown, err := k.Receive(form, after, p.Lenient())
	var obj kind.Object
	if err == nil {
		req.Spans.At(stage.Convert)
		obj, err = k.Accept(sent, form.APIVersion)
	}
	if err != nil {
		if err, ok := tooLarge(err); ok {
			return nil, err
		}
		return nil, patch.DecodeError(p.t, p.body, after, prototype, err)
	}
	if found = append(found, unknown...); len(found) > 0 {
		if err := p.checkPatchStrictness(after, found); err != nil {
			return nil, err
		}
	}
	return obj, p.matchURL(obj)
}

// patchedView applies the patch to what a subresource shows and decodes the result like a request.
func (p *patching) patchedView(view kind.Object) (runtime.Object, error) {
	sub := p.req.Sub
	before, err := kind.Marshal(object.JSON, view)
	if err != nil {
		return nil, err
	}
	after, strict, err := patch.Apply(p.t, before, p.body, sub.New(), p.Lenient())
	if err != nil {
		return nil, err
	}
	gvk, err := kjsonmeta.DefaultMetaFactory.Interpret(after)
	if err != nil {
		return nil, patch.DecodeError(p.t, p.body, after, sub.New(), err)
	}
	if _, err := p.patchedVersion(*gvk, after); err != nil {
		return nil, err
	}
	next, found, err := readTyped(object.JSON, after, sub.New, p.Lenient())
	if err != nil {
		return nil, patch.DecodeError(p.t, p.body, after, sub.New(), err)
	}
	return next, p.checkPatchStrictness(after, append(strict, found...))
}

// checkPatchStrictness rejects or warns about duplicate and unknown fields, as the options demand.
func (p *patching) checkPatchStrictness(after []byte, found []string) error {
	if len(found) > 0 && p.Strict {
		return patch.StrictError(p.t, p.body, after, found)
	}
	if p.Warn {
		for _, f := range found {
			p.req.Warn(f)
		}
	}
	return nil
}

// patchedMaps applies the patch, if it is a merge patch, to a custom resource without encoding it. If plain is false,
// the patch or its result may be invalid; the caller applies it to the encoded object, which finds the error.
func (p *patching) patchedMaps(current kind.Object) (patched kind.Object, plain bool) {
	req := p.req
	receiver, ok := req.Kind.(kind.Custom)
	u, isMap := current.(*unstructured.Unstructured)
	if !ok || !isMap || p.t != types.MergePatchType || u.GroupVersionKind() != req.GVK || hasFloat(u.Object) {
		return nil, false
	}
	change, plain := patch.DecodeMerge(p.body, p.Lenient())
	if !plain {
		return nil, false
	}
	next := u.DeepCopy()
	patch.Merge(next.Object, change)
	if next.GroupVersionKind() != req.GVK {
		return nil, false
	}
	obj, strict, err := receiver.ReceiveMap(next, p.Lenient())
	req.Spans.At(stage.Convert)
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
