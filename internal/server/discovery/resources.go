package discovery

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
)

// resourceList makes the plain document of a group-version: its resources by name, each followed by its
// subresources.
func resourceList(entries []kind.Entry, gv schema.GroupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: gv.String(),
	}
	if gv.Group == "" {
		list.APIVersion = "" // the document of the core group is older than the field
	}
	for _, entry := range entries {
		info := entry.Kind.Info()
		list.APIResources = append(list.APIResources, describeResource(info, gv))
		for _, sub := range subresources(entry) {
			list.APIResources = append(list.APIResources, describeSubresource(info, sub, gv))
		}
	}
	return list
}

func describeResource(info *kind.Info, gv schema.GroupVersion) metav1.APIResource {
	r := metav1.APIResource{
		Name:         info.Plural,
		SingularName: info.Singular,
		Namespaced:   info.Namespaced,
		Kind:         info.Kind,
		Verbs:        info.ServedVerbs(),
		ShortNames:   shortNames(info, gv),
		Categories:   categories(info, gv),
	}
	if info.HasVerb("get") {
		r.StorageVersionHash = storageVersionHash(info)
	}
	return r
}

// shortNames returns a kind's short names, except in a second group that serves it for old manifests: clients
// would warn that the short name is ambiguous.
func shortNames(info *kind.Info, gv schema.GroupVersion) []string {
	if e := info.Endpoint(gv); e != nil && e.Deprecated != "" && gv.Group != info.Endpoints[0].Group {
		return nil
	}
	return info.ShortNames
}

// categories returns a kind's categories, except in a second group (extensions): clients would list the
// objects twice.
func categories(info *kind.Info, gv schema.GroupVersion) []string {
	if gv.Group != info.GroupResource().Group {
		return nil
	}
	return info.Categories
}

// describeSubresource sets group and version only if they differ from the document's.
func describeSubresource(info *kind.Info, sub kind.Subresource, gv schema.GroupVersion) metav1.APIResource {
	r := metav1.APIResource{
		Name:       info.Plural + "/" + sub.Name,
		Namespaced: info.Namespaced,
		Kind:       info.Kind,
		Verbs:      sub.Verbs,
	}
	if sub.Kind.Kind != "" {
		r.Kind = sub.Kind.Kind
		if sub.Kind.GroupVersion() != gv {
			r.Group, r.Version = sub.Kind.Group, sub.Kind.Version
		}
	}
	return r
}

// storageVersionHash lets clients detect that the storage version of a resource has changed.
func storageVersionHash(info *kind.Info) string {
	hub := &info.Endpoints[0]
	sum := sha256.Sum256([]byte(hub.Group + "/" + hub.Version + "/" + info.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// subresources returns the subresources of an entry by name; those of custom resources are already in
// Kubernetes' order.
func subresources(e kind.Entry) []kind.Subresource {
	subs := e.Kind.Info().SubresourcesOf(e.Endpoint.GroupVersion())
	if isCustom(e.Kind) {
		return subs
	}
	subs = slices.Clone(subs)
	slices.SortFunc(subs, func(a, b kind.Subresource) int { return cmp.Compare(a.Name, b.Name) })
	return subs
}
