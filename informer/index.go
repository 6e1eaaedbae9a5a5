package informer

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// Head is what is known of an object without decoding it.
type Head struct {
	Key
	UID      types.UID
	Revision object.Revision
	Labels   map[string]string
	// Owners are the uids of metadata.ownerReferences.
	Owners []types.UID
}

// HeadFunc is the values under which an index finds an object, where its head is enough to say so: a lazy informer asks
// one without decoding the object.
type HeadFunc func(head Head) []string

// ByNamespace finds objects by their namespace.
func ByNamespace(head Head) []string { return []string{head.Namespace} }

// ByOwner finds objects by the uid of each of their owners.
func ByOwner(head Head) []string {
	values := make([]string, len(head.Owners))
	for i, owner := range head.Owners {
		values[i] = string(owner)
	}
	return values
}

// ByLabel finds objects by the value of a label; those without it are not found.
func ByLabel(key string) HeadFunc {
	return func(head Head) []string {
		if value, labelled := head.Labels[key]; labelled {
			return []string{value}
		}
		return nil
	}
}

// ByNodeName finds pods by the node that they are bound to; those that are bound to none are found under "".
func ByNodeName(pod *corev1.Pod) []string { return []string{pod.Spec.NodeName} }

// AddHeadIndex adds an index as AddIndex does.
func (x *Indexer[T]) AddHeadIndex(name string, values HeadFunc) {
	x.AddIndex(name, func(obj T) []string { return values(headOf(obj)) })
}

func headOf(obj client.Object) Head {
	head := Head{Key: KeyOf(obj), UID: obj.GetUID(), Labels: obj.GetLabels()}
	head.Revision, _ = object.ParseRevision(obj.GetResourceVersion())
	for _, owner := range obj.GetOwnerReferences() {
		head.Owners = append(head.Owners, owner.UID)
	}
	return head
}
