package server

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"strings"
)

// whyPath is where administrators ask why controllers did what they did. It is a path of no API resource, which nobody else
// may ask.
const whyPath = "/bowline/why"

// servePath answers what is no API resource: health, version, metrics, discovery, OpenAPI.
func (s *Server) servePath(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if endpoint, check, ok := healthPath(path); ok {
		s.health(w, r, endpoint, check)
		return
	}
	switch {
	case path == "/version":
		writeVersion(w)
	case path == "/metrics":
		s.metrics.handler.ServeHTTP(w, r)
	case path == backupPath:
		s.backup(w, r)
	case path == whyPath && s.why != nil:
		s.why.ServeHTTP(w, r)
	case strings.HasPrefix(path, "/debug/pprof"):
		servePprof(w, r)
	case strings.HasPrefix(path, "/openapi/"):
		if !s.openapi.Serve(w, r) {
			pageNotFound(w)
		}
	case path == "/api" || path == "/apis" || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/apis/"):
		s.serveDiscovery(w, r)
	case path == "":
		s.index(w)
	default:
		pageNotFound(w)
	}
}

// servePprof shows profiles of the process, to who may read that path.
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

// serveDiscovery answers with what is served. A version that is not there, of a group that is, is a Status; the rest
// is the 404 of a path.
func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	if s.discovery.Serve(w, r) {
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) == 3 && s.servesGroup(parts[1]) || len(parts) == 2 && parts[0] == "api" {
		s.writeError(w, r, noResource())
		return
	}
	pageNotFound(w)
}

func (s *Server) servesGroup(name string) bool {
	for _, g := range s.kinds.Groups() {
		if g.Name == name {
			return true
		}
	}
	return false
}

// index lists the paths, as a hint to who looks at the root.
func (s *Server) index(w http.ResponseWriter) {
	paths := []string{"/api", "/api/v1", "/apis"}
	for _, g := range s.kinds.Groups() {
		if g.Name == "" {
			continue
		}
		paths = append(paths, "/apis/"+g.Name)
		for _, v := range g.Versions {
			paths = append(paths, "/apis/"+g.Name+"/"+v)
		}
	}
	paths = append(paths, "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version")
	data, _ := json.MarshalIndent(map[string][]string{"paths": paths}, "", "  ") // strings always marshal
	writeBody(w, http.StatusOK, mediaJSON, data)
}

// writeVersion says which Kubernetes the wire is.
func writeVersion(w http.ResponseWriter) {
	data, _ := json.MarshalIndent(KubernetesVersion(), "", "  ") // a struct of strings always marshals
	writeBody(w, http.StatusOK, mediaJSON, data)
}
