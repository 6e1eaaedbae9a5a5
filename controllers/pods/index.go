package pods

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// Resource is that of pods.
var Resource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// Cache is the pods of a manager, by who controls them.
type Cache struct {
	*informer.Informer[*corev1.Pod]
}

// CacheOf is the cache of a manager's pods.
func CacheOf(m *controller.Manager) Cache {
	i := informer.For[*corev1.Pod](m.Informers(), Resource)
	i.Indexer().AddIndex("controller", byController)
	return Cache{i}
}

// byController finds pods by the uid of their controller, and those that have none by their namespace.
func byController(pod *corev1.Pod) []string {
	if c := metav1.GetControllerOfNoCopy(pod); c != nil {
		return []string{string(c.UID)}
	}
	return []string{"in " + pod.Namespace}
}

// Of are the pods that an object controls, and those of its namespace that nobody does.
func (c Cache) Of(uid types.UID, namespace string) []*corev1.Pod {
	return append(c.ControlledBy(uid), c.found("in "+namespace)...)
}

// ControlledBy are the pods that an object controls.
func (c Cache) ControlledBy(uid types.UID) []*corev1.Pod { return c.found(string(uid)) }

func (c Cache) found(value string) []*corev1.Pod {
	pods, err := c.Indexer().ByIndex("controller", value)
	if err != nil {
		panic(err) // CacheOf has made the index
	}
	return pods
}
