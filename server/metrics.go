package server

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what one server counts, under Kubernetes' names.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	watchers prometheus.Gauge
	handler  http.Handler
}

func newMetrics() *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_request_total", Help: "Requests answered, by verb, group, version, resource and code.",
		}, []string{"verb", "group", "version", "resource", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "apiserver_request_duration_seconds", Help: "How long requests took, watches left out.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"verb"}),
		watchers: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "apiserver_registered_watchers", Help: "Watches that are open.",
		}),
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.requests, m.duration, m.watchers, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return m
}

// measured counts requests and their time, and logs each for who wants details.
func (s *Server) measured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		cw := &codeWriter{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(cw, r)
		if s.log.Enabled(r.Context(), slog.LevelDebug) {
			s.log.Debug("request", "method", r.Method, "uri", r.URL.RequestURI(), "code", cw.code, "took", time.Since(start))
		}
		target := parseRoute(r)
		if !target.resource {
			return
		}
		resource := target.gvr.Resource
		if _, known := s.kinds.Find(target.gvr); !known {
			resource = "unknown" // a client's invention must not become a time series
			target.gvr.Group, target.gvr.Version = "", ""
		}
		s.metrics.requests.WithLabelValues(target.verb, target.gvr.Group, target.gvr.Version, resource, strconv.Itoa(cw.code)).Inc()
		if target.verb != "watch" {
			s.metrics.duration.WithLabelValues(target.verb).Observe(time.Since(start).Seconds())
		}
	})
}

// codeWriter remembers the status code.
type codeWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (w *codeWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *codeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
