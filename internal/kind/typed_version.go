package kind

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// versions converts objects between the hub of a typed kind and its other versions. It does not change.
type versions[P Object] struct {
	kind string
	hub  schema.GroupVersion
	// byAPIVersion has the versions whose Go struct differs from the hub's: see Rules.Versions.
	byAPIVersion map[string]Version[P]
}

// has reports whether the Go struct of a version differs from the hub's.
func (v *versions[P]) has(apiVersion string) bool {
	_, ok := v.byAPIVersion[apiVersion]
	return ok
}

// setHub sets the hub's kind and apiVersion. Every decoded object has them, which spares encoding a copy.
func (v *versions[P]) setHub(obj runtime.Object) {
	obj.GetObjectKind().SetGroupVersionKind(v.hub.WithKind(v.kind))
}

// toHub converts a decoded struct of a version to the hub.
func (v *versions[P]) toHub(apiVersion string, obj runtime.Object) (P, error) {
	if other, ok := v.byAPIVersion[apiVersion]; ok {
		hub, err := other.ToHub(obj)
		if err != nil {
			var none P
			return none, err
		}
		v.setHub(hub)
		return hub, nil
	}
	v.setHub(obj)
	return obj.(P), nil
}

// fromHub converts a hub object to a version. It returns the object itself if that version is the hub.
func (v *versions[P]) fromHub(hub P, gv schema.GroupVersion) (runtime.Object, error) {
	if other, ok := v.byAPIVersion[gv.String()]; ok {
		return other.FromHub(hub)
	}
	if gv == v.hub {
		return hub, nil
	}
	obj := hub.DeepCopyObject()
	obj.GetObjectKind().SetGroupVersionKind(gv.WithKind(v.kind))
	return obj, nil
}

// inHub returns obj with the hub's apiVersion: obj itself, or a shallow copy if obj has the apiVersion of
// another Version.
func (k *Typed[T, P]) inHub(obj P) P {
	if len(k.versions.byAPIVersion) == 0 {
		return obj
	}
	if !k.versions.has(obj.GetObjectKind().GroupVersionKind().GroupVersion().String()) {
		return obj
	}
	hub := *obj
	k.versions.setHub(P(&hub))
	return &hub
}

// Convert implements Kind.
func (k *Typed[T, P]) Convert(obj runtime.Object, apiVersion string) (runtime.Object, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	if hub, ok := obj.(P); ok {
		return k.versions.fromHub(k.inHub(hub), gv)
	}
	if obj.GetObjectKind().GroupVersionKind().GroupVersion() == gv {
		return obj, nil
	}
	from := obj.GetObjectKind().GroupVersionKind().GroupVersion().String()
	hub, err := k.versions.toHub(from, obj.DeepCopyObject())
	if err != nil {
		return nil, err
	}
	return k.versions.fromHub(hub, gv)
}
