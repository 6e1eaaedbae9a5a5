package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A Check is one condition of the server's health.
type Check struct {
	// Name is the last element of the check's paths: /livez/NAME, /readyz/NAME.
	Name string
	// Check returns nil if the condition holds. It is quick, does not block and is called concurrently. Its
	// error is logged, and shown to users who may request the check's own path.
	Check func(context.Context) error
	// Ready restricts the check to /readyz: a server that fails it needs time, not a restart.
	Ready bool
	// Informational reports whether a failure of the check is only shown and does not fail the endpoint. Its success is
	// not shown.
	Informational bool
}

// healthPath splits the path of a health check into the endpoint and the name of a single check.
func healthPath(path string) (endpoint, check string, ok bool) {
	endpoint, check, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return endpoint, check, endpoint == "healthz" || endpoint == "livez" || endpoint == "readyz"
}

// health answers like kube-apiserver: "ok", or, after a failure or with ?verbose, a line for each check. The
// error of a check is only shown at the check's own path, since the endpoint is open to everyone.
func (h *Handler) health(w http.ResponseWriter, r *http.Request, endpoint, only string) {
	checks := slices.DeleteFunc(slices.Clone(h.o.Checks), func(c Check) bool {
		return c.Ready && endpoint != "readyz"
	})
	if only != "" {
		healthOf(w, r, checks, only)
		return
	}
	query := r.URL.Query()
	lines, failed := h.runChecks(r.Context(), endpoint, checks, query["exclude"])
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

// healthy writes a successful answer with the headers that http.Error sets.
func healthy(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write([]byte(text))
}

// healthOf answers with the result of a single check.
func healthOf(w http.ResponseWriter, r *http.Request, checks []Check, only string) {
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

// runChecks runs all checks except the excluded ones.
func (h *Handler) runChecks(ctx context.Context, endpoint string, checks []Check,
	excluded []string) (lines string, failed bool) {
	var out bytes.Buffer
	for _, c := range checks {
		if slices.Contains(excluded, c.Name) {
			fmt.Fprintf(&out, "[+]%s excluded: ok\n", c.Name)
			continue
		}
		err := c.Check(ctx)
		if c.Informational {
			if err != nil {
				fmt.Fprintf(&out, "[!]%s failed (informational): see /%s/%s\n", c.Name, endpoint,
					c.Name)
			}
			continue
		}
		if err != nil {
			failed = true
			h.o.Log.Warn("a health check failed", "endpoint", endpoint, "check", c.Name, "error", err)
			fmt.Fprintf(&out, "[-]%s failed: reason withheld\n", c.Name)
			continue
		}
		fmt.Fprintf(&out, "[+]%s ok\n", c.Name)
	}
	if unknown := unknownChecks(checks, excluded); len(unknown) > 0 {
		fmt.Fprintf(&out, "warn: some health checks cannot be excluded: no matches for %s\n",
			strings.Join(unknown, ","))
	}
	return out.String(), failed
}

// unknownChecks returns the excluded names that no check has, quoted and sorted.
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
