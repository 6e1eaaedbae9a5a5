// Package why tells why controllers did what they did: each run of a reconciler with its causes, what it compared, what it
// wrote, and what that led to, also in other controllers and other processes.
//
// A Journal keeps the last runs of each object, bounded, and names the controllers that run in circles. Package controller
// fills it; whoever has it may serve it over HTTP (Journal is a handler), read it, and take the runs of other processes into it.
// It keeps no object's content, and knows no server.
package why

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/object"
)

// Kind is what sort of thing made a controller look at an object.
type Kind uint8

// The kinds of causes.
const (
	// Changed is an object that was added, updated or deleted.
	Changed Kind = iota + 1
	// Started is an object that was there when the controller began to watch.
	Started
	// Resynced is an informer that passed an object on again, unchanged.
	Resynced
	// Timed is a RequeueAfter that a run before it asked for.
	Timed
	// Retried is a run before it that failed.
	Retried
	// Triggered is a Trigger: something outside of the API.
	Triggered
	// Repeated is that it was asked for more than once, and what it was asked for is known to a run before it.
	Repeated
)

// Change is what happened to an object.
type Change uint8

// The changes of objects.
const (
	Added Change = iota + 1
	Updated
	// Ending is that the object is to be deleted, and waits for its finalizers.
	Ending
	Deleted
)

// Object names an object by its resource, in whatever version.
type Object struct {
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// ObjectOf names an object.
func ObjectOf(resource schema.GroupResource, namespace, name string) Object {
	return Object{Group: resource.Group, Resource: resource.Resource, Namespace: namespace, Name: name}
}

// String is the object as kubectl would name it: resource.group/name, with the namespace in between if it has one.
func (o Object) String() string {
	resource := schema.GroupResource{Group: o.Group, Resource: o.Resource}.String()
	if o.Namespace == "" {
		return resource + "/" + o.Name
	}
	return resource + "/" + o.Namespace + "/" + o.Name
}

// Cause is why a controller looked at an object. Which members are set follows from Kind.
type Cause struct {
	Kind Kind `json:"kind"`
	// Change is what happened to Object, when it Changed.
	Change Change `json:"change,omitempty"`
	// Object is what changed, was there or was passed on again.
	Object Object `json:"object,omitzero"`
	// UID is the object's.
	UID types.UID `json:"uid,omitempty"`
	// Revision is the object's after the change. Since is the one before, 0 if there was none: of changes that came in quick
	// succession the controller saw the last, and each revision between the two was a cause as well.
	Revision object.Revision `json:"revision,omitempty"`
	Since    object.Revision `json:"since,omitempty"`
	// By is the field manager who made the change, as its user agent or itself calls it; empty if that is not known.
	By string `json:"by,omitempty"`
	// Run is the run that failed or asked for a timer.
	Run string `json:"run,omitempty"`
	// Err is how it failed.
	Err string `json:"error,omitempty"`
}

// String is the cause as a sentence without its "because".
func (c Cause) String() string {
	switch c.Kind {
	case Changed:
		return fmt.Sprintf("%s %s%s (revision %d)", c.Object, happened[c.Change], c.by(), c.Revision)
	case Started:
		return fmt.Sprintf("%s was there at the start (revision %d)", c.Object, c.Revision)
	case Resynced:
		return c.Object.String() + " was looked at again (resync)"
	case Timed:
		return "the run before asked for it (timer)"
	case Retried:
		return "the run before failed: " + c.Err
	case Triggered:
		return "something outside of the API called for it (trigger)"
	case Repeated:
		return "it was asked for once more, before the run before began"
	}
	return "of nothing that is known"
}

var happened = map[Change]string{Added: "was added", Updated: "was updated", Ending: "is to be deleted", Deleted: "was deleted"}

func (c Cause) by() string {
	if c.By == "" {
		return ""
	}
	return " by " + c.By
}
