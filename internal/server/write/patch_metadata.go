package write

import (
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/patch"
	"github.com/bowline-dev/bowline/internal/server/stage"
)

// plainMetadata are the fields that patchedMetadata handles: no other fields depend on them.
var plainMetadata = map[string]bool{
	"name": true, "uid": true, "resourceVersion": true,
	"labels": true, "annotations": true, "finalizers": true, "ownerReferences": true,
	"$deleteFromPrimitiveList/finalizers": true, "$setElementOrder/finalizers": true,
	"$setElementOrder/ownerReferences": true,
}

// patchedMetadata applies a patch that changes only labels, annotations, finalizers or owners, like most
// patches of controllers, without encoding the rest of the object. If it returns false, the patch changes
// more or may be invalid; the caller applies it to the encoded object, which finds the error.
func (p *patching) patchedMetadata(current kind.Object) (kind.Object, bool) {
	req, version := p.req, p.req.Endpoint.APIVersion()
	if p.t != types.MergePatchType && p.t != types.StrategicMergePatchType {
		return nil, false
	}
	var change map[string]map[string]json.RawMessage
	if err := kjson.UnmarshalCaseSensitivePreserveInts(p.body, &change); err != nil || len(change) != 1 ||
		change["metadata"] == nil {
		return nil, false
	}
	for name := range change["metadata"] {
		if !plainMetadata[name] {
			return nil, false
		}
	}
	if kind.HasInitializers(current) || reflect.TypeOf(req.Kind.Prototype(version)) != reflect.TypeOf(current) {
		return nil, false
	}
	sent := current.DeepCopyObject().(kind.Object)
	accessor, ok := sent.(metav1.ObjectMetaAccessor)
	if !ok {
		return nil, false
	}
	meta, ok := accessor.GetObjectMeta().(*metav1.ObjectMeta)
	if !ok || !patchMetadata(p.t, meta, p.body, p.Lenient()) {
		return nil, false
	}
	sent.GetObjectKind().SetGroupVersionKind(req.GVK)
	obj, err := req.Kind.Accept(sent, version)
	req.Spans.At(stage.Convert)
	return obj, err == nil
}

// patchMetadata applies a patch to the metadata. If it returns false, the patch may be invalid, and meta is
// unchanged.
func patchMetadata(t types.PatchType, meta *metav1.ObjectMeta, body []byte, lenient bool) bool {
	whole := metav1.PartialObjectMetadata{ObjectMeta: *meta}
	whole.ManagedFields = nil
	before, err := kind.Marshal(object.JSON, &whole)
	if err != nil {
		return false
	}
	after, strict, err := patch.Apply(t, before, body, &metav1.PartialObjectMetadata{}, lenient)
	if err != nil || len(strict) > 0 {
		return false
	}
	var next metav1.PartialObjectMetadata
	if found, err := kjson.UnmarshalStrict(after, &next); err != nil || len(found) > 0 || kind.HasInitializers(&next) {
		return false
	}
	next.ManagedFields = meta.ManagedFields
	*meta = next.ObjectMeta
	return true
}
