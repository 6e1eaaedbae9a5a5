package discovery

import (
	"cmp"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

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

// compareGroups orders group names as lists show them.
func compareGroups(a, b string) int {
	rank := func(name string) int {
		if i := slices.Index(builtinGroups, name); i >= 0 {
			return i
		}
		return len(builtinGroups)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

// versionsByGroup are the served versions of every group, the preferred one first: v2, v1, v1beta1.
func versionsByGroup(kinds []kind.Kind) map[string][]string {
	versions := map[string][]string{}
	for _, k := range kinds {
		for _, e := range k.Info().Endpoints {
			if !e.Unserved && !slices.Contains(versions[e.Group], e.Version) {
				versions[e.Group] = append(versions[e.Group], e.Version)
			}
		}
	}
	for _, v := range versions {
		slices.SortFunc(v, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	}
	return versions
}

// groupNames are the keys of versionsByGroup in order, without the core group.
func groupNames(versions map[string][]string) []string {
	names := make([]string, 0, len(versions))
	for name := range versions {
		if name != "" {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, compareGroups)
	return names
}

// groupList is the document of /apis.
func groupList(kinds []kind.Kind) *metav1.APIGroupList {
	versions := versionsByGroup(kinds)
	list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	for _, name := range groupNames(versions) {
		list.Groups = append(list.Groups, describeGroup(name, versions[name]))
	}
	return list
}

// group is the document of /apis/GROUP.
func group(kinds []kind.Kind, name string) *metav1.APIGroup {
	g := describeGroup(name, versionsByGroup(kinds)[name])
	g.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
	return &g
}

func describeGroup(name string, versions []string) metav1.APIGroup {
	g := metav1.APIGroup{Name: name}
	for _, v := range versions {
		gv := schema.GroupVersion{Group: name, Version: v}
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v})
	}
	g.PreferredVersion = g.Versions[0]
	return g
}

// serveVersions answers /api in its plain form. It names the address at which the client reached the server, so it is
// made for each request.
func serveVersions(w http.ResponseWriter, r *http.Request, h *Handler, m media) {
	versions := &metav1.APIVersions{
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
		Versions: versionsByGroup(h.registry.Kinds())[""],
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
