package status

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// registeredText lists the kinds that kube-apiserver can decode. A line with = begins a scheme. It names the group of
// the requests that use the scheme, or * for all other groups, and then the scheme. Each other line is a group-version
// and its kinds; ConfigMap+ stands for ConfigMap and ConfigMapList.
//
//go:embed registered.txt
var registeredText string

// options are the kinds that are registered in each group-version.
var options = []string{
	"CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent",
}

// scheme is one of kube-apiserver's sets of Go types.
type scheme struct {
	name  string
	kinds map[schema.GroupVersion][]string
}

// schemes returns the schemes by the group in the URL, or * for all other groups.
var schemes = sync.OnceValue(func() map[string]*scheme {
	all, current := map[string]*scheme{}, (*scheme)(nil)
	for line := range strings.Lines(registeredText) {
		words := strings.Fields(line)
		if words[0] == "=" {
			current = &scheme{words[2], map[schema.GroupVersion][]string{}}
			all[words[1]] = current
			continue
		}
		group, version, named := strings.Cut(words[0], "/")
		if !named {
			group, version = "", group
		}
		kinds := current.kinds[schema.GroupVersion{Group: group, Version: version}]
		for _, name := range words[1:] {
			item, listed := strings.CutSuffix(name, "+")
			if kinds = append(kinds, item); listed {
				kinds = append(kinds, item+"List")
			}
		}
		current.kinds[schema.GroupVersion{Group: group, Version: version}] = kinds
	}
	return all
})

// schemeOf returns the scheme of requests for a group.
func schemeOf(group string) *scheme {
	if s, ok := schemes()[group]; ok {
		return s
	}
	return schemes()["*"]
}

// Registered reports whether kube-apiserver knows the kind of a body, in a request for a resource or subresource of a
// group. Old versions remain registered after Kubernetes has stopped to serve them.
func Registered(group string, gvk schema.GroupVersionKind) bool {
	kinds := schemeOf(group).kinds[gvk.GroupVersion()]
	return slices.Contains(kinds, gvk.Kind) || kinds != nil && slices.Contains(options, gvk.Kind)
}

// NotRegistered returns the error of a body whose kind is not registered. group is that of the request.
func NotRegistered(group string, gvk schema.GroupVersionKind) error {
	return runtime.NewNotRegisteredErrForKind(schemeOf(group).name, gvk)
}
