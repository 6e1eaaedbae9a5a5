package client

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/object"
)

// Source lists and watches the objects of a resource, for informers. bowline.Plane.Source returns the Source of a
// server in the same process, which returns its own objects without encoding them. NewSource returns one that uses the
// network. A rejected request returns a Status error: NotFound if the server does not serve the resource,
// ResourceExpired or Gone if a watch cannot resume at its revision, Forbidden. Implementations are safe for concurrent
// use.
type Source interface {
	// List returns the objects that options select, and ignores options.After. ctx bounds the call, and the watch
	// List.Following if there is one.
	List(ctx context.Context, resource schema.GroupVersionResource, options Options) (List, error)
	// Watch starts a watch of the changes after options.After, in order, until ctx ends or Stop is called.
	Watch(ctx context.Context, resource schema.GroupVersionResource, options Options) (Watch, error)
}

// Options selects the objects of a list or watch, and the forms in which the caller accepts them. The zero value
// selects all.
type Options struct {
	// Namespace is empty for all namespaces.
	Namespace string
	// Labels and Fields select objects; nil selects all.
	Labels labels.Selector
	Fields fields.Selector
	// Uninitialized includes objects with pending initializers; see docs/initializers.md.
	Uninitialized bool
	// After is the revision after which a watch begins: that of a list, or of the last event received.
	After object.Revision
	// MetadataOnly permits a source to send only the metadata (PartialObjectMetadata) because the caller uses
	// nothing else. A source may still return whole objects.
	MetadataOnly bool
	// Protobuf permits a source to send protobuf in addition to JSON.
	Protobuf bool
	// New returns an empty object of the type into which the caller will decode the objects. If it is set, a source
	// over the network may decode list items as they arrive and let them share equal parts, so the caller must not
	// modify them. If it is nil, objects stay encoded.
	New func() Object
}

// List holds the objects of a resource at one revision. The objects are shared and must not be changed.
type List struct {
	Items    []*object.Object // in the order of their keys
	Codec    object.Codec     // decodes the items
	Revision object.Revision  // of the list; a watch after it misses no change
	// Following, if not nil, is a watch of the changes after Revision, which a source that streams its lists has
	// already started. The caller must stop it.
	Following Watch
	// Unreadable has an error for each item whose metadata could not be decoded; these items are not in Items.
	Unreadable []error
}

// Watch is a running watch. It must be used by one goroutine, except that any goroutine may call Stop.
type Watch interface {
	// Next waits for events and returns at least one, until its ctx or that of the watch ends. An error ends the watch.
	// io.EOF means that the server ended the watch in order, for example after a timeout: a new watch may resume at
	// the last revision received.
	Next(ctx context.Context) ([]Event, error)
	// Stop ends the watch; a call of Next that waits returns an error.
	Stop()
}

// Event is one change of an object, or a bookmark.
type Event struct {
	// Type is Added, Modified or Deleted; or Bookmark, which has only a Revision; or Error for an event that the source
	// could not decode, which has only Err and does not end the watch.
	Type     watch.EventType
	Object   *object.Object  // shared, must not be modified; for Deleted, the last state
	Codec    object.Codec    // decodes the object
	Revision object.Revision // the commit that made the change
	Err      error           // the error of decoding an event of type Error
}
