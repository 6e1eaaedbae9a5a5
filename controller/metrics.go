package controller

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bowline-dev/bowline/workqueue"
)

// Metrics counts and times the work of controllers and their queues, under the names that controller-runtime and
// client-go use, so that existing dashboards work. It is a prometheus.Collector and safe for concurrent use.
// Manager.Health serves it; otherwise, register it with a prometheus.Registerer.
type Metrics struct {
	queues                             *workqueue.Metrics
	runs                               *prometheus.CounterVec
	failed, terminal, panics, timeouts *prometheus.CounterVec
	durations                          *prometheus.HistogramVec
	workers, active                    *prometheus.GaugeVec
}

var _ prometheus.Collector = (*Metrics)(nil)

// NewMetrics returns empty metrics. Pass them in ManagerOptions, or in the Options of controllers without a manager.
func NewMetrics() *Metrics {
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		opts := prometheus.CounterOpts{Namespace: "controller_runtime", Name: name, Help: help}
		return prometheus.NewCounterVec(opts, append([]string{"controller"}, labels...))
	}
	gauges := func(name, help string) *prometheus.GaugeVec {
		opts := prometheus.GaugeOpts{Namespace: "controller_runtime", Name: name, Help: help}
		return prometheus.NewGaugeVec(opts, []string{"controller"})
	}
	return &Metrics{
		queues: workqueue.NewMetrics(),
		runs: counters("reconcile_total", "Reconciles by result: success, requeue_after or error.",
			"result"),
		failed: counters("reconcile_errors_total", "Reconciles that returned an error."),
		terminal: counters("terminal_reconcile_errors_total",
			"Reconciles that returned a terminal error."),
		panics:   counters("reconcile_panics_total", "Reconciles that panicked."),
		timeouts: counters("reconcile_timeouts_total", "Reconciles that exceeded their timeout."),
		workers:  gauges("max_concurrent_reconciles", "The maximum number of concurrent reconciles."),
		active:   gauges("active_workers", "The number of reconciles in progress."),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "controller_runtime", Name: "reconcile_time_seconds", Help: "The duration of reconciles.",
			Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8,
				0.9, 1.0,
				1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60},
		}, []string{"controller"}),
	}
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.queues, m.runs, m.failed, m.terminal, m.panics, m.timeouts, m.durations, m.workers,
		m.active}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(to)
	}
}

// measured holds the metrics of one controller. A nil *measured records nothing and does not read the clock.
type measured struct {
	success, later, failure            prometheus.Counter
	failed, terminal, panics, timeouts prometheus.Counter
	durations                          prometheus.Observer
	active                             prometheus.Gauge
}

// measure returns the metrics of a controller.
func (m *Metrics) measure(name string, workers int) *measured {
	if m == nil {
		return nil
	}
	m.workers.WithLabelValues(name).Set(float64(workers))
	return &measured{
		success: m.runs.WithLabelValues(name, "success"), later: m.runs.WithLabelValues(name, "requeue_after"),
		failure: m.runs.WithLabelValues(name, "error"), failed: m.failed.WithLabelValues(name),
		terminal: m.terminal.WithLabelValues(name), panics: m.panics.WithLabelValues(name),
		timeouts:  m.timeouts.WithLabelValues(name),
		durations: m.durations.WithLabelValues(name), active: m.active.WithLabelValues(name),
	}
}

func (m *measured) panicked() {
	if m != nil {
		m.panics.Inc()
	}
}

// begin starts measuring a run.
func (m *measured) begin() measuredRun {
	if m == nil {
		return measuredRun{}
	}
	m.active.Inc()
	return measuredRun{m, time.Now()}
}

type measuredRun struct {
	*measured
	started time.Time
}

func (r measuredRun) end(result Result, err error) {
	if r.measured == nil {
		return
	}
	r.active.Dec()
	r.durations.Observe(time.Since(r.started).Seconds())
	switch {
	case err != nil:
		r.failure.Inc()
		r.failed.Inc()
	case result.RequeueAfter > 0:
		r.later.Inc()
	default:
		r.success.Inc()
	}
	if isTerminal(err) {
		r.terminal.Inc()
	}
	if timeout := (errTimeout{}); errors.As(err, &timeout) {
		r.timeouts.Inc()
	}
}
