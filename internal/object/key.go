package object

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key identifies an object in the store: group/resource/namespace/name. The core group and the namespace of
// cluster-scoped objects are empty, so every key has three slashes. Keys sort bytewise, which is the order of
// lists.
type Key string

// KeyOf returns the key of an object. No part may contain a slash; validated names and namespaces contain
// none.
func KeyOf(resource schema.GroupResource, namespace, name string) Key {
	return Key(resource.Group + "/" + resource.Resource + "/" + namespace + "/" + name)
}

// Prefix returns the common prefix of all keys of a resource, or of those in one namespace if namespace is
// not empty.
func Prefix(resource schema.GroupResource, namespace string) Key {
	if namespace == "" {
		return Key(resource.Group + "/" + resource.Resource + "/")
	}
	return Key(resource.Group + "/" + resource.Resource + "/" + namespace + "/")
}

// GroupResource returns the group and resource of the key.
func (k Key) GroupResource() schema.GroupResource {
	group, rest, _ := strings.Cut(string(k), "/")
	resource, _, _ := strings.Cut(rest, "/")
	return schema.GroupResource{Group: group, Resource: resource}
}

// Namespace returns the namespace of the object, or the empty string for a cluster-scoped object.
func (k Key) Namespace() string {
	s := string(k[:strings.LastIndexByte(string(k), '/')])
	return s[strings.LastIndexByte(s, '/')+1:]
}

// Name returns the metadata.name of the object.
func (k Key) Name() string { return string(k[strings.LastIndexByte(string(k), '/')+1:]) }
