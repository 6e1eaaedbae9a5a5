package server

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

// route is what a URL and a method ask for.
type route struct {
	// resource says that the path is that of an API resource: /api/VERSION/... or /apis/GROUP/VERSION/...; the members
	// below, but path, are only set then.
	resource    bool
	verb        string
	gvr         schema.GroupVersionResource
	subresource string
	namespace   string
	name        string
	// selected is the name of the one object that a list or watch selects: authorizers decide about that one.
	selected string
	// path is the URL's path.
	path string
}

// parseRoute reads method and URL. The verb is Kubernetes': a GET is get, list or watch.
func parseRoute(r *http.Request) route {
	out := route{path: r.URL.Path, verb: strings.ToLower(r.Method)}
	var room [8]string // which most paths fit in
	parts := slices.AppendSeq(room[:0], strings.SplitSeq(strings.Trim(r.URL.Path, "/"), "/"))
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		out.gvr.Version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		out.gvr.Group, out.gvr.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return out
	}
	watching := parts[0] == "watch" && len(parts) > 1
	if watching {
		parts = parts[1:]
	}
	out.resource = true
	out.locate(parts)
	out.verb = verbOf(r, out.name, watching)
	if !watching && (out.verb == "list" || out.verb == "watch") && strings.Contains(r.URL.RawQuery, "fieldSelector") {
		out.selected = selectedName(r.URL.Query().Get("fieldSelector"))
	}
	return out
}

// locate reads what stands after the group-version: [namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]].
func (r *route) locate(parts []string) {
	// namespaces/NAME/finalize and namespaces/NAME/status are subresources of a namespace, not resources in one.
	if parts[0] == "namespaces" && len(parts) > 1 {
		r.namespace = parts[1]
		if len(parts) > 2 && parts[2] != "finalize" && parts[2] != "status" {
			parts = parts[2:]
		}
	}
	r.gvr.Resource = parts[0]
	if len(parts) > 1 {
		r.name = parts[1]
	}
	if len(parts) > 2 {
		r.subresource = strings.Join(parts[2:], "/")
	}
}

// verbOf names what the method does to the resource.
func verbOf(r *http.Request, name string, watching bool) string {
	if watching {
		return "watch" // by the old path, whatever the method
	}
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if name == "" {
			return "deletecollection"
		}
		return "delete"
	case http.MethodGet, http.MethodHead:
		switch {
		case name != "": // one object is read, whatever the query says
		case r.URL.RawQuery != "" && asksToWatch(r.URL.Query()):
			return "watch"
		default:
			return "list"
		}
		return "get"
	}
	return strings.ToLower(r.Method)
}

// asksToWatch reads ?watch as Kubernetes reads a bool parameter: present means true, but for "false" and "0".
func asksToWatch(q url.Values) bool {
	values, present := q["watch"]
	return present && boolParameter(values)
}

// boolParameter is the value of a bool query parameter that is present.
func boolParameter(values []string) bool {
	if len(values) == 0 {
		return true
	}
	v := strings.ToLower(values[0])
	return v != "false" && v != "0"
}

// selectedName is the name that a field selector leaves, if it leaves one.
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

// attributes are the route as an authorizer wants them.
func (r *route) attributes(user *auth.User) auth.Attributes {
	return auth.Attributes{
		User: user, Verb: r.verb, IsResource: r.resource,
		Group: r.gvr.Group, Version: r.gvr.Version, Resource: r.gvr.Resource, Subresource: r.subresource,
		Namespace: r.namespace, Name: cmp.Or(r.name, r.selected), Path: r.path,
	}
}

// outlastsItsClient says that a request goes on when its client has gone: a write of a definition, after which more is to be done.
func (r *route) outlastsItsClient(q *http.Request) bool {
	return r.resource && r.gvr.GroupResource() == definitionsResource && q.Method != http.MethodGet
}
