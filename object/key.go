package object

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key is where an object stands in the store: group/resource/namespace/name. The core group and the namespace of a
// cluster-scoped object are empty, so every key has three slashes. Keys order as their bytes, which is the order in
// which lists are served.
type Key string

// KeyOf makes the key of one object. No part may hold a slash; names and namespaces that passed validation hold none.
func KeyOf(resource schema.GroupResource, namespace, name string) Key {
	return Key(resource.Group + "/" + resource.Resource + "/" + namespace + "/" + name)
}

// Prefix is the common beginning of all keys of a resource, or of those in one namespace when namespace is not empty.
func Prefix(resource schema.GroupResource, namespace string) Key {
	if namespace == "" {
		return Key(resource.Group + "/" + resource.Resource + "/")
	}
	return Key(resource.Group + "/" + resource.Resource + "/" + namespace + "/")
}

// GroupResource is the resource part of the key.
func (k Key) GroupResource() schema.GroupResource {
	group, rest, _ := strings.Cut(string(k), "/")
	resource, _, _ := strings.Cut(rest, "/")
	return schema.GroupResource{Group: group, Resource: resource}
}

// Namespace is empty for a cluster-scoped object.
func (k Key) Namespace() string {
	s := string(k[:strings.LastIndexByte(string(k), '/')])
	return s[strings.LastIndexByte(s, '/')+1:]
}

// Name is the object's metadata.name.
func (k Key) Name() string { return string(k[strings.LastIndexByte(string(k), '/')+1:]) }
