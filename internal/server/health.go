package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A Check is one thing that must be well for the server to be healthy.
type Check struct {
	// Name is what a client asks for it by: /livez/NAME, /readyz/NAME.
	Name string
	// Check is nil while all is well. It is quick, waits for nothing and is called concurrently. Its error is for the log
	// and for who may ask for the check alone.
	Check func(context.Context) error
	// Ready says that only /readyz asks: a server that fails is to be left alone for a while, not to be restarted.
	Ready bool
	// Tells says that an error is told and makes nothing unhealthy, and that there is nothing to tell while all is well.
	Tells bool
}

// checks are the server's own and those that it was given.
func (s *Server) checks(more []Check) []Check {
	return slices.Concat([]Check{
		{Name: "ping", Check: func(context.Context) error { return nil }},
		{Name: "store", Check: func(context.Context) error { return s.store.Err() }},
		{Name: "damage", Check: s.whole, Ready: true, Tells: true},
	}, more, []Check{{Name: "shutdown", Ready: true, Check: s.open}})
}

// open is an error once the server closes.
func (s *Server) open(context.Context) error {
	if s.ctx.Err() != nil {
		return errors.New("the server is stopping")
	}
	return nil
}

// healthPath splits the path of a health check into the endpoint and, below it, the one check that is asked for.
func healthPath(path string) (endpoint, check string, ok bool) {
	endpoint, check, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return endpoint, check, endpoint == "healthz" || endpoint == "livez" || endpoint == "readyz"
}

// health answers as kube-apiserver does: ok, or, when something is not well or the client wants to know, a line for each
// check. Why one fails is only told to who may ask for it alone: the endpoint is open to everybody.
func (s *Server) health(w http.ResponseWriter, r *http.Request, endpoint, only string) {
	checks := slices.DeleteFunc(slices.Clone(s.healthChecks), func(c Check) bool { return c.Ready && endpoint != "readyz" })
	if only != "" {
		s.healthOf(w, r, checks, only)
		return
	}
	query := r.URL.Query()
	lines, failed := s.examine(r.Context(), endpoint, checks, query["exclude"])
	if failed {
		http.Error(w, lines+endpoint+" check failed", http.StatusInternalServerError)
		return
	}
	if _, verbose := query["verbose"]; verbose {
		healthy(w, lines+endpoint+" check passed\n")
		return
	}
	healthy(w, "ok")
}

// healthy writes a good answer with the headers that http.Error gives a bad one.
func healthy(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write([]byte(text))
}

// healthOf answers with one check alone.
func (s *Server) healthOf(w http.ResponseWriter, r *http.Request, checks []Check, only string) {
	at := slices.IndexFunc(checks, func(c Check) bool { return c.Name == only })
	if at < 0 {
		pageNotFound(w)
		return
	}
	if err := checks[at].Check(r.Context()); err != nil {
		http.Error(w, fmt.Sprintf("internal server error: %v", err), http.StatusInternalServerError)
		return
	}
	healthy(w, "ok")
}

// examine asks all checks but those that are excluded.
func (s *Server) examine(ctx context.Context, endpoint string, checks []Check, excluded []string) (lines string, failed bool) {
	var out bytes.Buffer
	for _, c := range checks {
		if slices.Contains(excluded, c.Name) {
			fmt.Fprintf(&out, "[+]%s excluded: ok\n", c.Name)
			continue
		}
		err := c.Check(ctx)
		if c.Tells {
			if err != nil {
				fmt.Fprintf(&out, "[!]%s is not ok, and is not counted: /%s/%s says why\n", c.Name, endpoint, c.Name)
			}
			continue
		}
		if err != nil {
			failed = true
			s.log.Warn("a health check failed", "endpoint", endpoint, "check", c.Name, "error", err)
			fmt.Fprintf(&out, "[-]%s failed: reason withheld\n", c.Name)
			continue
		}
		fmt.Fprintf(&out, "[+]%s ok\n", c.Name)
	}
	if unknown := unknownChecks(checks, excluded); len(unknown) > 0 {
		fmt.Fprintf(&out, "warn: some health checks cannot be excluded: no matches for %s\n", strings.Join(unknown, ","))
	}
	return out.String(), failed
}

// unknownChecks are the excluded names that are no check's, quoted and sorted.
func unknownChecks(checks []Check, excluded []string) []string {
	var unknown []string
	for _, name := range excluded {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.Name == name }) {
			unknown = append(unknown, fmt.Sprintf("%q", name))
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}
