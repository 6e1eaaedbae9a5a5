package client

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/object"
)

// Source is where an informer gets the objects of a resource from. In the server's own process the server supplies
// it, and what it yields are the server's own immutable objects: no bytes are made. Over the wire it is a REST client.
// Errors are metav1 Status errors as k8s.io/apimachinery/pkg/api/errors knows them: NotFound while nothing serves the
// resource, ResourceExpired or Gone when a watch cannot go on from its revision, Forbidden.
type Source interface {
	// List reads what the server has now, whatever options.After is. A watch that comes with it ends with ctx.
	List(ctx context.Context, resource schema.GroupVersionResource, options Options) (List, error)
	// Watch yields the changes after options.After, in order, until ctx ends or Stop is called.
	Watch(ctx context.Context, resource schema.GroupVersionResource, options Options) (Watch, error)
}

// Options narrow what a list or watch yields. The zero value is everything, as it is now.
type Options struct {
	// Namespace is empty for all.
	Namespace string
	// Labels and Fields are nil for everything.
	Labels labels.Selector
	Fields fields.Selector
	// Uninitialized asks for objects that initializers have still to act on, too. Others do not see them: docs/initializers.md.
	Uninitialized bool
	// After is where a watch begins: the revision of a list, or of the last event that was seen.
	After object.Revision
	// MetadataOnly says that the reader looks at nothing but metadata: a server over the wire is asked for no more, which it
	// sends as PartialObjectMetadata. A source may yield whole objects all the same.
	MetadataOnly bool
	// Protobuf says that the reader reads protobuf as well as JSON, so that it may get what the source can have quicker.
	Protobuf bool
	// New makes an empty object of the type that the reader reads all objects into and changes none of. A source over the wire
	// may then read those of a list as they arrive, and have them share what they have in common; ReadObject returns them. nil
	// leaves them as they came.
	New func() Object
}

// List is the objects of a resource at one revision. The objects are shared and must not be changed.
type List struct {
	Items    []*object.Object
	Codec    object.Codec // reads the items
	Revision object.Revision
	// Following goes on exactly where the list ended, when it is not nil: a server that streams its lists sends the changes
	// behind them. It is the caller's to Stop.
	Following Watch
	// Unreadable tells of items whose metadata could not be read, and that are not among Items therefore.
	Unreadable []error
}

// Watch is a running watch. Its methods are for one goroutine, but Stop may be called from any.
type Watch interface {
	// Next waits for the next events, at least one. An error ends the watch; io.EOF is an orderly end (a timeout, a
	// server that stops), after which a new watch may begin at the last revision that was seen.
	Next(ctx context.Context) ([]Event, error)
	// Stop ends the watch, and a Next that waits.
	Stop()
}

// Event is one change. Its Type is Added, Modified, Deleted or Bookmark; a bookmark has no object. Of Type Error is what
// the source could not make sense of, with no more than Err; the watch goes on.
type Event struct {
	Type     watch.EventType
	Object   *object.Object
	Codec    object.Codec // reads the object
	Revision object.Revision
	Err      error
}
