package structural

import (
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/kind"
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

// keepStatus makes obj's status that of old.
func keepStatus(obj, old *unstructured.Unstructured) {
	status, ok := old.Object["status"]
	if !ok {
		delete(obj.Object, "status")
		return
	}
	obj.Object["status"] = runtime.DeepCopyJSONValue(status)
}

// onlyStatus makes obj a copy of old with its own status, managed fields and resourceVersion.
func onlyStatus(obj, old *unstructured.Unstructured) {
	status, ok := obj.Object["status"]
	managed, revision := obj.GetManagedFields(), obj.GetResourceVersion()
	obj.Object = old.DeepCopy().Object
	obj.SetManagedFields(managed)
	obj.SetResourceVersion(revision)
	delete(obj.Object, "status")
	if ok {
		obj.Object["status"] = status
	}
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
