// Package object names the parts of the object model that the other public packages accept and return: immutable
// objects, their keys and their revisions. The names are aliases; the implementation is internal.
package object

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/object"
)

// Object is one state of one API object: its header, its revision and its encodings. Lists and watches in the same
// process return the objects of the store themselves, so everything that an Object returns is shared and must not be
// modified. Its methods are safe for concurrent use.
type Object = object.Object

// Codec decodes the objects of one kind. List results and watch events carry the codec that decodes them, and
// Object.Decode returns a copy that the caller owns. A Codec is safe for concurrent use.
type Codec = object.Codec

// Key identifies an object within a plane: group/resource/namespace/name. The group of core objects and the namespace
// of cluster-scoped objects are empty. Keys sort in the order of lists.
type Key = object.Key

// Revision numbers the commits of a plane. Clients see it as the opaque metadata.resourceVersion. Revisions of one
// plane only increase; 0 precedes every commit.
type Revision = object.Revision

// KeyOf returns the key of an object. namespace is empty for a cluster-scoped object. No part may contain a slash.
func KeyOf(resource schema.GroupResource, namespace, name string) Key {
	return object.KeyOf(resource, namespace, name)
}

// ParseRevision parses a metadata.resourceVersion. It returns an error unless s is an unsigned decimal number.
func ParseRevision(s string) (Revision, error) { return object.ParseRevision(s) }
