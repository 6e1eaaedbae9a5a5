package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/bowline-dev/bowline/internal/auth/serviceaccount"
	"github.com/bowline-dev/bowline/internal/server/operations"
	"github.com/bowline-dev/bowline/internal/server/status"
)

// whyPath is where administrators query the journal of controllers. It is not the path of an API resource;
// auth.OwnPaths lets only administrators request it.
const whyPath = "/bowline/why"

// servePath serves the paths that are not API resources: health, version, metrics, discovery, OpenAPI.
func (h *Handler) servePath(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if endpoint, check, ok := healthPath(path); ok {
		h.health(w, r, endpoint, check)
		return
	}
	switch {
	case path == "/version":
		data, _ := json.MarshalIndent(h.o.Version, "", "  ") // a struct of strings always marshals
		sendJSON(w, data)
	case path == "/metrics":
		h.o.Metrics.Handler().ServeHTTP(w, r)
	case path == operations.BackupPath:
		if err := h.o.Backup.Serve(w, r); err != nil {
			h.writeError(w, r, err)
		}
	case path == whyPath && h.o.Why != nil:
		h.o.Why.ServeHTTP(w, r)
	case (path == serviceaccount.ConfigurationPath || path == serviceaccount.KeysPath) && h.o.OpenID != nil:
		if r.Method != http.MethodGet { // nor HEAD, as in Kubernetes
			h.writeError(w, r, status.MethodNotAllowed())
			return
		}
		h.o.OpenID.ServeHTTP(w, r)
	case strings.HasPrefix(path, "/debug/pprof"):
		servePprof(w, r)
	case strings.HasPrefix(path, "/openapi/"):
		if !h.o.OpenAPI.Serve(w, r) {
			pageNotFound(w)
		}
	case path == "/api" || path == "/apis" || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/apis/"):
		h.serveDiscovery(w, r)
	case path == "":
		h.index(w)
	default:
		pageNotFound(w)
	}
}

// servePprof serves profiles of the process.
func servePprof(w http.ResponseWriter, r *http.Request) {
	switch strings.TrimPrefix(r.URL.Path, "/debug/pprof/") {
	case "cmdline":
		pprof.Cmdline(w, r)
	case "profile":
		pprof.Profile(w, r)
	case "symbol":
		pprof.Symbol(w, r)
	case "trace":
		pprof.Trace(w, r)
	default:
		pprof.Index(w, r)
	}
}

// serveDiscovery serves the discovery documents. An unknown version of a known group is a Status; other unknown
// paths are the plain 404 page.
func (h *Handler) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	if h.o.Discovery.Serve(w, r) {
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) == 3 && h.servesGroup(parts[1]) || len(parts) == 2 && parts[0] == "api" {
		h.writeError(w, r, status.NoResource())
		return
	}
	pageNotFound(w)
}

func (h *Handler) servesGroup(name string) bool {
	for _, g := range h.o.Kinds.Groups() {
		if g.Name == name {
			return true
		}
	}
	return false
}

// index lists the paths of the server.
func (h *Handler) index(w http.ResponseWriter) {
	paths := []string{"/api", "/api/v1", "/apis"}
	if h.o.OpenID != nil {
		paths = append([]string{serviceaccount.ConfigurationPath}, paths...)
	}
	for _, g := range h.o.Kinds.Groups() {
		if g.Name == "" {
			continue
		}
		paths = append(paths, "/apis/"+g.Name)
		for _, v := range g.Versions {
			paths = append(paths, "/apis/"+g.Name+"/"+v)
		}
	}
	paths = append(paths, "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3")
	if h.o.OpenID != nil {
		paths = append(paths, serviceaccount.KeysPath)
	}
	paths = append(paths, "/readyz", "/version")
	data, _ := json.MarshalIndent(map[string][]string{"paths": paths}, "", "  ") // strings always marshal
	sendJSON(w, data)
}

// pageNotFound is the 404 of a path that does not exist.
func pageNotFound(w http.ResponseWriter) { http.Error(w, "404 page not found", http.StatusNotFound) }
