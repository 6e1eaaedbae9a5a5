package metrics

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/server/request"
)

// requestLabels identify a series of requests. Clients cannot create labels: a request for an unknown
// resource has no resource labels, and an unknown method is "other".
type requestLabels struct {
	verb, group, version, resource, subresource, scope, dryRun string
}

// values returns the labels in the order of requestLabelNames.
func (l *requestLabels) values() []string {
	return []string{l.verb, l.group, l.version, l.resource, l.subresource, l.scope, component}
}

// labels returns the labels of a request, named as in kube-apiserver: the verb is the method, or LIST, WATCH
// or APPLY.
func (m *Metrics) labels(route *request.Route, r *http.Request) requestLabels {
	l := requestLabels{verb: metricsVerb(route.Verb, r), dryRun: dryRunLabel(r)}
	if !route.IsResource {
		l.subresource = knownPath(route.Path)
		return l
	}
	entry, served := m.kinds.Find(route.GVR)
	if !served {
		return l
	}
	if route.Subresource != "" {
		sub := entry.Kind.Info().Subresource(route.Subresource)
		if sub == nil {
			return l
		}
		if sub.Text != nil {
			l.verb = "CONNECT" // as Kubernetes counts requests that it forwards to a kubelet
		}
	}
	l.group, l.version, l.resource, l.subresource = route.GVR.Group, route.GVR.Version, route.GVR.Resource,
		route.Subresource
	l.scope = scope(route)
	if warning := entry.Endpoint.Deprecated; warning != "" {
		m.deprecated.WithLabelValues(l.group, l.version, l.resource, l.subresource, removedIn(warning)).Set(1)
	}
	return l
}

// scope returns the label for how much of a resource a request addresses.
func scope(r *request.Route) string {
	switch {
	case !r.IsResource:
		return ""
	case r.Name != "" || r.Verb == "create":
		return "resource"
	case r.Namespace != "":
		return "namespace"
	}
	return "cluster"
}

func metricsVerb(verb string, r *http.Request) string {
	switch verb {
	case "get", "head":
		return "GET"
	case "list":
		return "LIST"
	case "watch":
		return "WATCH"
	case "create", "post":
		return "POST"
	case "update", "put":
		return "PUT"
	case "delete", "deletecollection":
		return "DELETE"
	case "patch":
		if request.BodyMedia(r.Header.Get("Content-Type")) == string(types.ApplyYAMLPatchType) {
			return "APPLY"
		}
		return "PATCH"
	}
	return "other"
}

// dryRunLabel is empty unless the request is a dry run.
func dryRunLabel(r *http.Request) string {
	if !strings.Contains(r.URL.RawQuery, "dryRun") {
		return ""
	}
	values := slices.Compact(r.URL.Query()["dryRun"])
	switch {
	case len(values) == 0:
		return ""
	case len(values) == 1 && values[0] == "All":
		return "All"
	}
	return "invalid"
}

// knownPath returns one of a few labels for a path that is not that of a resource.
func knownPath(path string) string {
	for _, known := range []string{"/healthz", "/livez", "/readyz", "/metrics", "/version", "/openapi/v2",
		"/openapi/v3", "/debug/pprof"} {
		if path == known || strings.HasPrefix(path, known+"/") {
			return known
		}
	}
	return ""
}

// removedIn parses the release in which Kubernetes removes a deprecated version from the deprecation warning.
func removedIn(warning string) string {
	_, release, _ := strings.Cut(warning, "unavailable in v")
	release, _, _ = strings.Cut(release, "+")
	return release
}
