package kind

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Eviction describes a delete that needs the consent of guards (PodDisruptionBudgets). The guard's new state
// is committed together with the delete, so that of two concurrent evictions that use up the same allowance,
// one conflicts and is evaluated again.
type Eviction struct {
	// Options returns the DeleteOptions in the body of a request for the object with that name, or nil if it
	// has none. It returns an error if the body is invalid.
	Options func(name string, body runtime.Object) (*metav1.DeleteOptions, error)
	// Guards is the resource of the guards, which are in the object's namespace.
	Guards schema.GroupResource
	// Check returns an error, a metav1 Status with the reason, if the object may not be evicted. It may modify
	// obj; the modified object is then marked as deleted, or removed. paid is the next state of the guard
	// whose allowance the eviction reduces, or nil. Check does not modify the guards themselves.
	Check func(obj Object, guards []Object) (paid Object, err error)
}
