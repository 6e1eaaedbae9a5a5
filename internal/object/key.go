package object

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	s := string(k[:max(strings.LastIndexByte(string(k), '/'), 0)])
	return s[strings.LastIndexByte(s, '/')+1:]
}

// Name returns the metadata.name of the object.
func (k Key) Name() string { return string(k[strings.LastIndexByte(string(k), '/')+1:]) }

// CheckKey returns an error unless a key has four parts, of which the resource and the name are not empty, and each
// part can be a segment of a URL's path and the name of a file. Keys from a disk or a backup are checked when they are
// read, so that later users of their parts need not check them.
func CheckKey(k Key) error {
	part, rest, parts := "", string(k), 0
	for more := true; more; parts++ {
		part, rest, more = strings.Cut(rest, "/")
		if part == "" && (parts == 1 || parts == 3) || !isSegment(part) {
			return fmt.Errorf("%q is not a valid key of an object", string(k))
		}
	}
	if parts != 4 {
		return fmt.Errorf("%q is not a valid key of an object", string(k))
	}
	return nil
}

// ValidUID reports whether a text can be the uid of an object: a segment of a path, which may be empty.
func ValidUID(uid types.UID) bool { return len(uid) <= maxUID && isSegment(string(uid)) }

// maxUID is the maximum length of a uid in bytes. Servers assign uids of 36.
const maxUID = 128

// isSegment reports whether a text is empty, or can be a segment of a path. Kubernetes allows spaces and any letters in
// the names of some kinds, but no slash and no percent sign.
func isSegment(text string) bool {
	if text == "." || text == ".." {
		return false
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '/' || c == '%' {
			return c >= 0x80 && isPrintable(text) && !strings.ContainsAny(text, "/%")
		}
	}
	return true
}

// isPrintable reports whether a text is UTF-8 without control characters.
func isPrintable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
