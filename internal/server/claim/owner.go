package claim

import (
	"encoding/json"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// Is reports whether a stored object may be a claim.
func Is(o *object.Object) bool {
	gr := o.Key.GroupResource()
	return gr.Group == Group || gr == kind.IPAddresses
}

// Managed reports whether the server made the object, which may be a claim. Users also make IPAddresses.
func Managed(o *object.Object) bool {
	return o.Key.GroupResource().Group == Group || o.Labels[networkingv1.LabelManagedBy] == "ipallocator.k8s.io"
}

// Owner returns the namespace, a slash and the name of the owner of an object that may be a claim. It returns an empty
// string if the object cannot be decoded, or is an IPAddress of something else than a Service.
func (s Claims) Owner(o *object.Object) string {
	if o.Key.GroupResource().Group == Group {
		var record metav1.PartialObjectMetadata
		if json.Unmarshal(o.Stored().Bytes(), &record) != nil {
			return ""
		}
		return record.Annotations[ownerAnnotation]
	}
	k, ok := s.Kinds.Stored(o.Key.GroupResource())
	if !ok {
		return ""
	}
	obj, err := stored.Shared(kind.CodecOf(k), o)
	if err != nil {
		return ""
	}
	ip, ok := obj.(*networkingv1.IPAddress)
	if !ok || ip.Spec.ParentRef == nil || ip.Spec.ParentRef.Group != "" || ip.Spec.ParentRef.Resource != "services" {
		return ""
	}
	return ip.Spec.ParentRef.Namespace + "/" + ip.Spec.ParentRef.Name
}

// Drop returns the changes that release all claims of an owner that cannot be read.
func (s Claims) Drop(snapshot *store.Snapshot, owner object.Key) (changes []store.Change) {
	for _, prefix := range []object.Key{Group + "/", object.Prefix(kind.IPAddresses, "")} {
		snapshot.Scan(prefix, "", func(o *object.Object) bool {
			if Managed(o) && s.Owner(o) == owner.Namespace()+"/"+owner.Name() {
				changes = append(changes, store.Change{Key: o.Key, Expect: store.Anything()})
			}
			return true
		})
	}
	return changes
}
