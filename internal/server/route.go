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

// route is where the method and the URL of a request lead.
type route struct {
	// resource reports whether the path is that of an API resource: /api/VERSION/... or
	// /apis/GROUP/VERSION/.... The fields below, except path, are only set if it is.
	resource    bool
	verb        string
	gvr         schema.GroupVersionResource
	subresource string
	namespace   string
	name        string
	// selected is the name of the one object that the field selector of a list or watch leaves: authorizers
	// decide about it.
	selected string
	// path is the URL's path.
	path string
}

// parseRoute parses method and URL. The verb is Kubernetes': a GET is a get, list or watch.
func parseRoute(r *http.Request) route {
	out := route{path: r.URL.Path, verb: strings.ToLower(r.Method)}
	var room [8]string // most paths fit
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

// locate parses the path after the group and version: [namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]].
func (r *route) locate(parts []string) {
	// namespaces/NAME/finalize and namespaces/NAME/status are subresources of a namespace, not resources in
	// one.
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

// verbOf returns the verb of a method on a resource.
func verbOf(r *http.Request, name string, watching bool) string {
	if watching {
		return "watch" // the deprecated path of watches, for any method
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

// asksToWatch reads ?watch like Kubernetes reads a bool parameter: it is true if present, unless it is
// "false" or "0".
func asksToWatch(q url.Values) bool {
	values, present := q["watch"]
	return present && boolParameter(values)
}

// boolParameter returns the value of a bool query parameter that is present.
func boolParameter(values []string) bool {
	if len(values) == 0 {
		return true
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

// attributes returns the route as an authorizer sees it.
func (r *route) attributes(user *auth.User) auth.Attributes {
	return auth.Attributes{
		User: user, Verb: r.verb, IsResource: r.resource,
		Group: r.gvr.Group, Version: r.gvr.Version, Resource: r.gvr.Resource, Subresource: r.subresource,
		Namespace: r.namespace, Name: cmp.Or(r.name, r.selected), Path: r.path,
	}
}

// outlastsItsClient reports whether a request continues when its client disconnects: a write of a definition,
// whose commit is followed by other work.
func (r *route) outlastsItsClient(q *http.Request) bool {
	return r.resource && r.gvr.GroupResource() == definitionsResource && q.Method != http.MethodGet
}
