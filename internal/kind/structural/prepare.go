package structural

import (
	"maps"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Prepare implements kind.Kind. With a status subresource a create starts without status, or with the schema's default of
// it, an update keeps the old one, and a write of the status keeps all but the status. The generation counts every change
// beside the metadata, and beside the status where that is a subresource.
func (k *Kind) Prepare(obj, old kind.Object, sub string) {
	u := obj.(*unstructured.Unstructured)
	if old == nil {
		if k.hasStatus() {
			k.resetStatus(u)
		}
		u.SetGeneration(1)
		return
	}
	was := old.(*unstructured.Unstructured)
	if sub == "status" && k.hasStatus() {
		onlyStatus(u, was)
		return
	}
	if k.hasStatus() {
		keepStatus(u, was)
	}
	u.SetGeneration(was.GetGeneration())
	if !equality.Semantic.DeepEqual(beside(u.Object, "metadata"), beside(was.Object, "metadata")) {
		u.SetGeneration(was.GetGeneration() + 1)
	}
}

func (k *Kind) hasStatus() bool { return k.info.Subresource("status") != nil }

// resetStatus gives a new object the status that it starts with: Kubernetes takes away what the client sent, stores the
// object and sets defaults again when it reads it.
func (k *Kind) resetStatus(u *unstructured.Unstructured) {
	delete(u.Object, "status")
	c, _ := k.version.schema() // a schema that cannot be compiled has no defaults; Validate says so
	if c == nil || c.structural == nil || c.structural.Properties["status"].Default.Object == nil {
		return
	}
	defaulting.Default(u.Object, c.defaults)
}

// keepStatus makes obj's status that of old, which they share then: what follows only reads it.
func keepStatus(obj, old *unstructured.Unstructured) {
	take(obj.Object, old.Object, "status")
}

// onlyStatus makes obj what old is, with its own status, managed fields and resourceVersion. The rest is old's too: what follows
// only reads it, but for fields of the metadata that it replaces.
func onlyStatus(obj, old *unstructured.Unstructured) {
	own := obj.Object
	obj.Object = maps.Clone(old.Object)
	take(obj.Object, own, "status")
	was, ok := old.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	meta := maps.Clone(was)
	obj.Object["metadata"] = meta
	ownMeta, _ := own["metadata"].(map[string]any)
	take(meta, ownMeta, "managedFields")
	take(meta, ownMeta, "resourceVersion")
}

// take makes a field what it is in another object: absent where it is so there.
func take(object, from map[string]any, name string) {
	value, ok := from[name]
	if !ok {
		delete(object, name)
		return
	}
	object[name] = value
}

// beside is a shallow copy of an object without one of its fields.
func beside(object map[string]any, name string) map[string]any {
	rest := make(map[string]any, len(object))
	for k, v := range object {
		if k != name {
			rest[k] = v
		}
	}
	return rest
}
