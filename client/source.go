package client

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/object"
)

// Source lists and watches the objects of a resource, for an informer. In the server's process, the server
// implements it and returns its own immutable objects without encoding them. NewSource implements it over the
// network. Errors are Status errors: NotFound while nothing serves the resource, ResourceExpired or Gone if a
// watch cannot resume at its revision, Forbidden. Implementations are safe for concurrent use.
type Source interface {
	// List reads the current state and ignores options.After. ctx bounds the call, and List.Following if that
	// is set.
	List(ctx context.Context, resource schema.GroupVersionResource, options Options) (List, error)
	// Watch returns the changes after options.After, in order, until ctx ends or Stop is called.
	Watch(ctx context.Context, resource schema.GroupVersionResource, options Options) (Watch, error)
}

// Options select the objects of a list or watch. The zero value selects all.
type Options struct {
	// Namespace is empty for all namespaces.
	Namespace string
	// Labels and Fields select objects; nil selects all.
	Labels labels.Selector
	Fields fields.Selector
	// Uninitialized includes objects with pending initializers: docs/initializers.md.
	Uninitialized bool
	// After is the revision that a watch begins after: that of a list, or of the last event received.
	After object.Revision
	// MetadataOnly permits a source to send only the metadata (PartialObjectMetadata) because the caller uses
	// nothing else. A source may still return whole objects.
	MetadataOnly bool
	// Protobuf permits a source to send protobuf in addition to JSON.
	Protobuf bool
	// New, if set, returns an empty object of the type that the caller decodes all objects into and does not
	// change. A source over the network may then decode list items as they arrive and share equal parts among
	// them. If New is nil, objects stay encoded.
	New func() Object
}

// List holds the objects of a resource at one revision. The objects are shared and must not be changed.
type List struct {
	Items    []*object.Object // in the order of their keys
	Codec    object.Codec     // decodes the items
	Revision object.Revision  // of the list; a watch after it misses no change
	// Following, if not nil, is a watch that continues exactly where the list ends: a server that streams its
	// lists continues with the changes. The caller must stop it.
	Following Watch
	// Unreadable has an error for each item whose metadata could not be read; these are not in Items.
	Unreadable []error
}

// Watch is a running watch. It must be used by one goroutine, except that any goroutine may call Stop.
type Watch interface {
	// Next waits for the next events and returns at least one. An error ends the watch. io.EOF is the orderly
	// end (a timeout, a server that stops): a new watch may resume at the last revision received.
	Next(ctx context.Context) ([]Event, error)
	// Stop ends the watch, and a Next that waits.
	Stop()
}

// Event is one change.
type Event struct {
	// Type is Added, Modified, Deleted, Bookmark (without an object), or Error for an event that the source could
	// not decode: then only Err is set, and the watch continues.
	Type     watch.EventType
	Object   *object.Object  // shared, must not be modified; for Deleted, the last state
	Codec    object.Codec    // decodes the object
	Revision object.Revision // the commit that made the change
	Err      error           // why an event of type Error could not be decoded
}
