package kind

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Eviction is a delete that asks others first. What it costs them is committed together with it: of two evictions that one of them
// would have to pay for with the same, one is made again and asks anew.
type Eviction struct {
	// Options are the DeleteOptions that the body of a request for the object of that name carries; nil for none. The error is what
	// is wrong with the body.
	Options func(name string, body runtime.Object) (*metav1.DeleteOptions, error)
	// Guards is the resource of those who are asked, which are all in the object's namespace.
	Guards schema.GroupResource
	// Ask says whether an object may be evicted: the error, a metav1 Status, says why not. It may change obj, which is marked
	// deleted or removed as it is then. paid is the guard that it costs something, in its next state, or nil; Ask changes none of
	// guards themselves.
	Ask func(obj Object, guards []Object) (paid Object, err error)
}
