package discovery

import (
	"cmp"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/kind"
)

// builtinGroups is the order in which a kube-apiserver lists its groups: clients that meet a resource name in two
// groups take the first. Groups that are not named here, those of custom resources, come after them by name.
var builtinGroups = []string{
	"", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling",
	"batch", "certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io",
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io",
	"discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io",
}

// groupsOf are the groups of kinds in the order in which lists show them. The core group, which has no name, is first.
func groupsOf(kinds []kind.Kind) []kind.Group {
	groups := kind.GroupsOf(kinds)
	slices.SortFunc(groups, func(a, b kind.Group) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return groups
}

// rank is the place of a group among the built-in ones, or after them.
func rank(group string) int {
	if i := slices.Index(builtinGroups, group); i >= 0 {
		return i
	}
	return len(builtinGroups)
}

// groupNamed is one of the groups; without versions when nothing is served in it.
func groupNamed(kinds []kind.Kind, name string) kind.Group {
	for _, g := range kind.GroupsOf(kinds) {
		if g.Name == name {
			return g
		}
	}
	return kind.Group{Name: name}
}

// groupList is the document of /apis, which leaves the core group to /api.
func groupList(kinds []kind.Kind) *metav1.APIGroupList {
	list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	for _, g := range groupsOf(kinds) {
		if g.Name != "" {
			list.Groups = append(list.Groups, describeGroup(g))
		}
	}
	return list
}

// group is the document of /apis/GROUP.
func group(kinds []kind.Kind, name string) *metav1.APIGroup {
	g := describeGroup(groupNamed(kinds, name))
	g.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
	return &g
}

// describeGroup takes a group without versions too: its last kind may go while a client asks for it.
func describeGroup(g kind.Group) metav1.APIGroup {
	described := metav1.APIGroup{Name: g.Name}
	for _, v := range g.Versions {
		gv := schema.GroupVersion{Group: g.Name, Version: v}
		described.Versions = append(described.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v})
	}
	if len(described.Versions) > 0 {
		described.PreferredVersion = described.Versions[0]
	}
	return described
}

// serveVersions answers /api in its plain form. It names the address at which the client reached the server, so it is
// made for each request.
func (h *Handler) serveVersions(w http.ResponseWriter, r *http.Request, m media) {
	versions := &metav1.APIVersions{
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
		Versions: groupNamed(h.registry.Kinds(), "").Versions,
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{
			{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host},
		},
	}
	if m.format == protobufFormat {
		versions.APIVersion = "v1" // the envelope names it; the JSON of the oldest documents never did
	}
	body, err := encode(m, versions)
	if err != nil {
		http.Error(w, "discovery of /api: "+err.Error(), http.StatusInternalServerError)
		return
	}
	write(w, r, m, document{body: body})
}
