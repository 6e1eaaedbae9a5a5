// Package why records why controllers did what they did: each run of a reconciler with its causes, what it
// compared, what it wrote, and the runs that this led to, also in other controllers and processes.
//
// A Journal retains the latest runs of each object within bounds, and detects hot loops: controllers that run
// without making progress. Package controller records the runs. A Journal is an http.Handler that reports
// them and accepts the runs of other processes. It stores no object contents.
package why

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
)

// Kind is the kind of a cause.
type Kind uint8

// The kinds of causes.
const (
	// Changed means that an object was added, updated or deleted.
	Changed Kind = iota + 1
	// Started means that the object existed when the controller started to watch.
	Started
	// Resynced means that an informer passed an unchanged object to its handlers.
	Resynced
	// Timed means that the RequeueAfter of an earlier run has passed.
	Timed
	// Retried means that an earlier run failed.
	Retried
	// Triggered means that a Trigger requested the run, for something outside the API.
	Triggered
	// Repeated means that the request was queued more than once, and that an earlier run has the other
	// causes.
	Repeated
)

// Change is a change of an object.
type Change uint8

// The changes of objects.
const (
	Added Change = iota + 1
	Updated
	// Ending means that deletion was requested, and finalizers delay it.
	Ending
	Deleted
)

// Object identifies an object by its resource, regardless of the version.
type Object struct {
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// ObjectOf returns the Object with the given resource, namespace and name.
func ObjectOf(resource schema.GroupResource, namespace, name string) Object {
	return Object{Group: resource.Group, Resource: resource.Resource, Namespace: namespace, Name: name}
}

// String returns the object as kubectl names it: resource.group/name, with the namespace in between if it has
// one.
func (o Object) String() string {
	resource := schema.GroupResource{Group: o.Group, Resource: o.Resource}.String()
	if o.Namespace == "" {
		return resource + "/" + o.Name
	}
	return resource + "/" + o.Namespace + "/" + o.Name
}

// Cause is a reason for a run. Kind determines which fields are set.
type Cause struct {
	Kind Kind `json:"kind"`
	// Change is the change of Object, if Kind is Changed.
	Change Change `json:"change,omitempty"`
	// Object is the object that changed, existed at the start, or was resynced.
	Object Object `json:"object,omitzero"`
	// UID is that of Object.
	UID types.UID `json:"uid,omitempty"`
	// Revision is that of Object after the change, and Since the one before, or 0 if there was none. If
	// changes were merged, the revisions between the two are causes too.
	Revision object.Revision `json:"revision,omitempty"`
	Since    object.Revision `json:"since,omitempty"`
	// By is the field manager that made the change; empty if unknown.
	By string `json:"by,omitempty"`
	// Run is the ID of the run that failed or set the timer.
	Run string `json:"run,omitempty"`
	// Err is the error of the failed run.
	Err string `json:"error,omitempty"`
}

// String returns the cause as the sentence that follows "because".
func (c Cause) String() string {
	switch c.Kind {
	case Changed:
		return fmt.Sprintf("%s %s%s (revision %d)", c.Object, happened[c.Change], c.by(), c.Revision)
	case Started:
		return fmt.Sprintf("%s existed at the start (revision %d)", c.Object, c.Revision)
	case Resynced:
		return c.Object.String() + " was reconciled again (resync)"
	case Timed:
		return "the previous run requested it (timer)"
	case Retried:
		return "the previous run failed: " + c.Err
	case Triggered:
		return "a source outside the API requested it (trigger)"
	case Repeated:
		return "it was requested again before the previous run began"
	}
	return "the cause is unknown"
}

var happened = map[Change]string{Added: "was added", Updated: "was updated", Ending: "is being deleted",
	Deleted: "was deleted"}

func (c Cause) by() string {
	if c.By == "" {
		return ""
	}
	return " by " + c.By
}
