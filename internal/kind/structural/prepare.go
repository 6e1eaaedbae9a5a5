package structural

import (
	"maps"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Prepare implements kind.Kind. With a status subresource, a create sets the status to the schema's default
// or clears it, an update restores the old status, and a write of the status restores everything else. The
// generation counts every change outside the metadata and, with a status subresource, outside the status.
func (k *Kind) Prepare(obj, old kind.Object, sub string) {
	u := obj.(*unstructured.Unstructured)
	if old == nil {
		if k.hasStatus() {
			k.version.resetStatus(u)
		}
		u.SetGeneration(1)
		return
	}
	was := old.(*unstructured.Unstructured)
	if sub == "status" && k.hasStatus() {
		restoreAllButStatus(u, was)
		return
	}
	if k.hasStatus() {
		copyStatus(u, was)
	}
	u.SetGeneration(was.GetGeneration())
	if !equality.Semantic.DeepEqual(withoutField(u.Object, "metadata"), withoutField(was.Object, "metadata")) {
		u.SetGeneration(was.GetGeneration() + 1)
	}
}

func (k *Kind) hasStatus() bool { return k.info.Subresource("status") != nil }

// resetStatus sets the initial status of a new object. It has the effect of Kubernetes' sequence: clear the
// status of the request, store the object, and apply defaults on decoding.
func (v *definedVersion) resetStatus(u *unstructured.Unstructured) {
	delete(u.Object, "status")
	c, _ := v.schema() // if compiling fails, Validate returns the error
	if c == nil || c.structural == nil || c.structural.Properties["status"].Default.Object == nil {
		return
	}
	defaulting.Default(u.Object, c.defaults)
}

// copyStatus copies the status of old to obj. They share it; nothing modifies it later.
func copyStatus(obj, old *unstructured.Unstructured) {
	copyField(obj.Object, old.Object, "status")
}

// restoreAllButStatus replaces everything in obj except its status, managed fields and resourceVersion with the
// content of old. They share that content, which nothing modifies later except by replacing fields of the
// metadata.
func restoreAllButStatus(obj, old *unstructured.Unstructured) {
	own := obj.Object
	obj.Object = maps.Clone(old.Object)
	copyField(obj.Object, own, "status")
	was, ok := old.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	meta := maps.Clone(was)
	obj.Object["metadata"] = meta
	ownMeta, _ := own["metadata"].(map[string]any)
	copyField(meta, ownMeta, "managedFields")
	copyField(meta, ownMeta, "resourceVersion")
}

// copyField copies a field from another object, or deletes it if the other object does not have it.
func copyField(object, from map[string]any, name string) {
	value, ok := from[name]
	if !ok {
		delete(object, name)
		return
	}
	object[name] = value
}

// withoutField returns a shallow copy of an object without one field.
func withoutField(object map[string]any, name string) map[string]any {
	rest := make(map[string]any, len(object))
	for k, v := range object {
		if k != name {
			rest[k] = v
		}
	}
	return rest
}
