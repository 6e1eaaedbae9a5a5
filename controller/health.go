package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Health returns a handler for /healthz (liveness), /readyz (readiness) and, if the manager has Metrics,
// /metrics. Liveness fails with status 500 if the lease was lost or all workers of a controller are stuck. Readiness
// fails if the lease was lost, a cache is not synced, or a reconciliation is stuck. Both list their checks. A manager
// that waits for its lease is ready, and names the holder: otherwise a rollout that waits for the new process to become
// ready would never end the old one. Run serves the handler at ManagerOptions.HealthAddress.
func (m *Manager) Health() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, "healthz", m.alive()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, "readyz", m.readiness()) })
	if m.options.Metrics != nil {
		registry := prometheus.NewRegistry()
		registry.MustRegister(m.options.Metrics, m.informers)
		mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	}
	return mux
}

// check is the result of one health check.
type check struct {
	name, note string
	err        error
}

// alive returns the liveness checks: failures that only a restart can fix.
func (m *Manager) alive() []check {
	checks := []check{m.lease.check()}
	for _, c := range m.controllers {
		checks = append(checks, check{name: "controller/" + c.options.Name, err: c.pool.exhausted()})
	}
	return checks
}

// readiness returns the readiness checks.
func (m *Manager) readiness() []check {
	now, cancel := context.WithCancel(context.Background())
	cancel() // WaitForSync must not wait
	var missing error
	for _, f := range m.factories() {
		missing = errors.Join(missing, f.WaitForSync(now))
	}
	checks := []check{m.lease.check(), {name: "caches", err: missing}}
	for _, c := range m.controllers {
		checks = append(checks, check{name: "controller/" + c.options.Name, err: c.pool.stuck()})
	}
	return checks
}

// answer writes the checks in the format of Kubernetes' servers.
func answer(w http.ResponseWriter, name string, checks []check) {
	var body strings.Builder
	verdict, status := "passed", http.StatusOK
	for _, c := range checks {
		switch {
		case c.err != nil:
			verdict, status = "failed", http.StatusInternalServerError
			fmt.Fprintf(&body, "[-]%s failed: %v\n", c.name, c.err)
		case c.note != "":
			fmt.Fprintf(&body, "[+]%s ok: %s\n", c.name, c.note)
		default:
			fmt.Fprintf(&body, "[+]%s ok\n", c.name)
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "%s%s check %s\n", body.String(), name, verdict)
}

// check reports whether the lease is held, and by whom.
func (l *lease) check() check {
	c := check{name: "lease"}
	switch {
	case l == nil:
		c.note = "no leader election"
	case l.lost.Load():
		c.err = fmt.Errorf("%s was lost, and is %s", l.name(), l.state())
	case l.elector.Leading():
		c.note = "this manager holds " + l.name()
	default:
		c.note = fmt.Sprintf("ready to take over: %s is %s", l.name(), l.state())
	}
	return c
}

// exhausted returns an error if all workers are stuck and no more can be replaced.
func (p *pool) exhausted() error {
	p.mu.Lock()
	stuck := 0
	for _, w := range p.workers {
		if w.stuck {
			stuck++
		}
	}
	exhausted := stuck > 0 && stuck == len(p.workers)
	p.mu.Unlock()
	if exhausted {
		return fmt.Errorf("no worker is left: %w", p.stuck())
	}
	return nil
}

// serveHealth starts serving Health. If the listener fails later, the manager stops.
func (m *Manager) serveHealth(stop context.CancelCauseFunc) (*part, error) {
	if m.options.HealthAddress == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", m.options.HealthAddress)
	if err != nil {
		return nil, fmt.Errorf("serving health and metrics: %w", err)
	}
	server := &http.Server{Handler: m.Health(), ReadHeaderTimeout: 10 * time.Second}
	return start(context.Background(), func(ctx context.Context) {
		unlink := context.AfterFunc(ctx, func() { server.Close() })
		defer unlink()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			stop(fmt.Errorf("serving health and metrics: %w", err))
		}
	}), nil
}
