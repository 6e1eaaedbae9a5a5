// Package object names the parts of the object model that the other public packages accept and return: immutable
// objects, their keys and their revisions. The names are aliases; the implementation is internal.
package object

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/object"
)

// Object is one state of one API object: its header, its revision and its encodings. Lists and watches in the same
// process return the objects of the store themselves, so an Object and everything that its methods return are shared
// and must not be modified, except the copy that Decode returns. Its methods are safe for concurrent use, except Stamp,
// which only the store calls, before the object is shared.
type Object = object.Object

// Codec decodes and encodes the objects of one kind. Lists and watch events carry the codec of their objects; pass it
// to Object.Decode for a copy that the caller owns, or to Object.Decoded for the shared value. A Codec is safe for
// concurrent use.
type Codec = object.Codec

// Key identifies an object within a plane: group/resource/namespace/name. The group of core objects and the namespace
// of cluster-scoped objects are empty. Keys sort in the order of lists.
type Key = object.Key

// Revision is the number of a commit of a plane. Clients see it as the opaque metadata.resourceVersion. Each commit
// has a higher revision than the one before; 0 precedes every commit.
type Revision = object.Revision

// KeyOf returns the key of an object. namespace is empty for a cluster-scoped object. No part may contain a slash.
func KeyOf(resource schema.GroupResource, namespace, name string) Key {
	return object.KeyOf(resource, namespace, name)
}

// ParseRevision parses a metadata.resourceVersion. It returns an error unless s is an unsigned decimal number.
func ParseRevision(s string) (Revision, error) { return object.ParseRevision(s) }
