package discovery

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// groupList makes the document of /apis, without the core group, which is in that of /api.
func (s *served) groupList() *metav1.APIGroupList {
	list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
		Groups: []metav1.APIGroup{}}
	for _, g := range s.groups {
		if g.name != "" {
			list.Groups = append(list.Groups, g.describe())
		}
	}
	return list
}

// document makes the document of /apis/GROUP.
func (g *group) document() *metav1.APIGroup {
	described := g.describe()
	described.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
	return &described
}

func (g *group) describe() metav1.APIGroup {
	described := metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		gv := schema.GroupVersion{Group: g.name, Version: v.name}
		described.Versions = append(described.Versions,
			metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v.name})
	}
	described.PreferredVersion = described.Versions[0]
	return described
}

// serveVersions answers /api in its plain form. It contains the address at which the client reached the
// server, so it is made for each request.
func (h *Handler) serveVersions(w http.ResponseWriter, r *http.Request, m media) {
	versions := &metav1.APIVersions{
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
		Versions: []string{},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{
			{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host},
		},
	}
	if g, _, ok := h.current().find(corePath); ok {
		for _, v := range g.versions {
			versions.Versions = append(versions.Versions, v.name)
		}
	}
	if m.format == protobufFormat {
		versions.APIVersion = "v1" // part of the protobuf envelope; the JSON never had it
	}
	body, err := encode(m, versions)
	if err != nil {
		http.Error(w, "discovery of /api: "+err.Error(), http.StatusInternalServerError)
		return
	}
	write(w, r, m, document{body: body})
}
