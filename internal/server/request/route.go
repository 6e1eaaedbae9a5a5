package request

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/auth"
)

// Route is where the method and the URL of a request lead.
type Route struct {
	// IsResource reports whether the path is that of an API resource: /api/VERSION/... or
	// /apis/GROUP/VERSION/.... The other fields, except Verb and Path, are only set if it is.
	IsResource bool
	// Verb is Kubernetes': a GET of a resource is a get, list or watch. For other paths it is the method in lower
	// case.
	Verb        string
	GVR         schema.GroupVersionResource
	Subresource string
	// Below is the path after the subresource, with its leading slash: that at the other machine of a proxy. Other
	// subresources have none.
	Below string
	// Namespace is the one in the path. The route of a Namespace names it here too, although it is in none.
	Namespace string
	Name      string
	// Selected is the name of the one object that the field selector of a list or watch leaves: authorizers
	// decide about it.
	Selected string
	// Path is the URL's path.
	Path string
}

// ParseRoute parses the method and the URL of a request. The path after the group and version is
// [namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE[/BELOW]]].
func ParseRoute(r *http.Request) Route {
	out := Route{Path: r.URL.Path, Verb: strings.ToLower(r.Method)}
	var room [8]string // most paths fit
	parts := slices.AppendSeq(room[:0], strings.SplitSeq(strings.Trim(r.URL.Path, "/"), "/"))
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		out.GVR.Version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		out.GVR.Group, out.GVR.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return out
	}
	out.IsResource = true
	watching := parts[0] == "watch" && len(parts) > 1 // the deprecated path of watches, for any method
	if watching {
		parts = parts[1:]
	}
	// namespaces/NAME/finalize and namespaces/NAME/status are subresources of a namespace, not resources in
	// one.
	if parts[0] == "namespaces" && len(parts) > 1 {
		out.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "finalize" && parts[2] != "status" {
			parts = parts[2:]
		}
	}
	out.GVR.Resource = parts[0]
	if len(parts) > 1 {
		out.Name = parts[1]
	}
	if len(parts) > 2 {
		out.Subresource = parts[2]
		out.Below = below(r.URL.Path, len(parts)-3)
	}
	switch r.Method {
	case http.MethodPost:
		out.Verb = "create"
	case http.MethodPut:
		out.Verb = "update"
	case http.MethodPatch:
		out.Verb = "patch"
	case http.MethodDelete:
		if out.Verb = "delete"; out.Name == "" {
			out.Verb = "deletecollection"
		}
	case http.MethodGet, http.MethodHead:
		switch {
		case out.Name != "": // one object is read, whatever the query says
			out.Verb = "get"
		case r.URL.RawQuery != "" && Flag(r.URL.Query(), "watch"):
			out.Verb = "watch"
		default:
			out.Verb = "list"
		}
	}
	if watching {
		out.Verb = "watch"
	} else if (out.Verb == "list" || out.Verb == "watch") && strings.Contains(r.URL.RawQuery, "fieldSelector") {
		out.Selected = selectedName(r.URL.Query().Get("fieldSelector"))
	}
	return out
}

// below returns the end of a path that has the given number of segments, and the slashes before and after them.
func below(path string, segments int) string {
	end := len(strings.TrimRight(path, "/"))
	for range segments {
		end = strings.LastIndexByte(path[:end], '/')
	}
	return path[end:]
}

// HasBelow reports whether the path has segments after the subresource.
func (r *Route) HasBelow() bool { return strings.Trim(r.Below, "/") != "" }

// Flag returns the value of a bool query parameter like Kubernetes: true if the parameter is present, unless it is
// "false" or "0".
func Flag(q url.Values, name string) bool {
	values, present := q[name]
	if !present || len(values) == 0 {
		return present
	}
	v := strings.ToLower(values[0])
	return v != "false" && v != "0"
}

// selectedName returns the name that a field selector requires, if it requires one.
func selectedName(selector string) string {
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		return ""
	}
	name, _ := parsed.RequiresExactMatch("metadata.name")
	if len(content.IsPathSegmentName(name)) > 0 {
		return ""
	}
	return name
}

// Attributes returns the route as an authorizer sees it.
func (r *Route) Attributes(user *auth.User) auth.Attributes {
	return auth.Attributes{
		User: user, Verb: r.Verb, IsResource: r.IsResource,
		Group: r.GVR.Group, Version: r.GVR.Version, Resource: r.GVR.Resource, Subresource: r.Subresource,
		Namespace: r.Namespace, Name: cmp.Or(r.Name, r.Selected), Path: r.Path,
	}
}

// Pattern returns the route with its variables in braces; empty if the path is not that of a resource.
func (r *Route) Pattern() string {
	if !r.IsResource {
		return ""
	}
	path := "/api/"
	if r.GVR.Group != "" {
		path = "/apis/" + r.GVR.Group + "/"
	}
	path += r.GVR.Version
	if r.Namespace != "" && r.GVR.Resource != "namespaces" {
		path += "/namespaces/{namespace}"
	}
	path += "/" + r.GVR.Resource
	if r.Name != "" {
		path += "/{name}"
	}
	if r.Subresource != "" {
		path += "/" + r.Subresource
	}
	if r.HasBelow() {
		path += "/{path}"
	}
	return path
}
