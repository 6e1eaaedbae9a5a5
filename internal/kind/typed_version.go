package kind

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// inHub returns obj with the hub's apiVersion: obj itself, or a shallow copy if obj has the apiVersion of
// another Version.
func (k *Typed[T, P]) inHub(obj P) P {
	if len(k.rules.Versions) == 0 {
		return obj
	}
	sent := obj.GetObjectKind().GroupVersionKind().GroupVersion().String()
	if _, other := k.rules.Versions[sent]; !other {
		return obj
	}
	hub := *obj
	k.setHub(P(&hub))
	return &hub
}

// toHub converts a decoded struct of a version to the hub.
func (k *Typed[T, P]) toHub(apiVersion string, obj runtime.Object) (P, error) {
	if v, other := k.rules.Versions[apiVersion]; other {
		hub, err := v.ToHub(obj)
		if err != nil {
			return nil, err
		}
		k.setHub(hub)
		return hub, nil
	}
	k.setHub(obj)
	return obj.(P), nil
}

// fromHub converts a hub object to a version. It returns the object itself if that version is the hub.
func (k *Typed[T, P]) fromHub(hub P, gv schema.GroupVersion) (runtime.Object, error) {
	if v, other := k.rules.Versions[gv.String()]; other {
		return v.FromHub(hub)
	}
	if gv == k.hub() {
		return hub, nil
	}
	obj := hub.DeepCopyObject()
	obj.GetObjectKind().SetGroupVersionKind(gv.WithKind(k.info.Kind))
	return obj, nil
}

// Convert implements Kind.
func (k *Typed[T, P]) Convert(obj runtime.Object, apiVersion string) (runtime.Object, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	if hub, ok := obj.(P); ok {
		return k.fromHub(k.inHub(hub), gv)
	}
	if obj.GetObjectKind().GroupVersionKind().GroupVersion() == gv {
		return obj, nil
	}
	from := obj.GetObjectKind().GroupVersionKind().GroupVersion().String()
	hub, err := k.toHub(from, obj.DeepCopyObject())
	if err != nil {
		return nil, err
	}
	return k.fromHub(hub, gv)
}
