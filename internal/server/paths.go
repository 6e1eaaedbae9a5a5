package server

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"strings"
)

// whyPath is where administrators query the journal of controllers. It is not the path of an API resource;
// only administrators may request it.
const whyPath = "/bowline/why"

// servePath serves the paths that are not API resources: health, version, metrics, discovery, OpenAPI.
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

// serveDiscovery answers with what is served. An unknown version of a known group is a Status; other unknown
// paths are the plain 404 page.
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

// index lists the paths of the server.
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

// writeVersion answers with the version of Kubernetes whose API is served.
func writeVersion(w http.ResponseWriter) {
	data, _ := json.MarshalIndent(KubernetesVersion(), "", "  ") // a struct of strings always marshals
	writeBody(w, http.StatusOK, mediaJSON, data)
}
