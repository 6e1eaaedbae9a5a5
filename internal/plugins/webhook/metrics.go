package webhook

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bowline-dev/bowline/admission"
)

// metrics counts calls of webhooks and their results. Names, labels and buckets are those of kube-apiserver
// (k8s.io/apiserver's pkg/admission/metrics).
type metrics struct {
	duration                     *prometheus.HistogramVec
	requests, refused, failOpens *prometheus.CounterVec
}

var _ prometheus.Collector = (*metrics)(nil)

// Values of the label "type".
const (
	admits    = "admit"
	validates = "validating"
)

// Values of the label "error_type".
const (
	noError       = "no_error"
	callingError  = "calling_webhook_error"
	internalError = "apiserver_internal_error"
)

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_admission_webhook_" + name, Help: help},
			labels)
	}
	return &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "apiserver_admission_webhook_admission_duration_seconds",
			Help:    "How long webhooks took to answer, or to fail.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25},
		}, []string{"name", "type", "operation", "rejected"}),
		requests: counter("request_total", "How often webhooks were asked.", "name", "type", "operation", "code",
			"rejected"),
		refused: counter("rejection_count", "Writes that webhooks refused, or that were refused since one failed.",
			"name", "type", "operation", "error_type", "rejection_code"),
		failOpens: counter("fail_open_count", "Writes that went on without a webhook that failed.", "name", "type"),
	}
}

// vector is a metric with labels.
type vector interface {
	prometheus.Collector
	DeletePartialMatch(prometheus.Labels) int
}

func (m *metrics) vectors() []vector { return []vector{m.duration, m.requests, m.refused, m.failOpens} }

// Describe implements prometheus.Collector.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, v := range m.vectors() {
		v.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	for _, v := range m.vectors() {
		v.Collect(to)
	}
}

// remove drops the series of a webhook that is no longer configured, so that the number of series stays
// bounded.
func (m *metrics) remove(step, name string) {
	for _, v := range m.vectors() {
		v.DeletePartialMatch(prometheus.Labels{"name": name, "type": step})
	}
}

// observe records one call: its duration and its result. A call that failed because the client canceled its
// request is not counted as a rejection or as a fail-open.
func (m *metrics) observe(h *hook, step string, op admission.Operation, took time.Duration, err error) {
	code, kind, rejected, left := http.StatusOK, "", err != nil, false
	var failed *callError
	var refused *rejection
	switch {
	case err == nil:
	case errors.As(err, &failed):
		code, kind, rejected = failed.code, callingError, !h.ignoresFailure()
		left = errors.Is(failed.err, context.Canceled)
	case errors.As(err, &refused):
		code, kind = int(refused.status.ErrStatus.Code), noError
	default:
		code, kind = 0, internalError
	}
	says := strconv.Itoa(min(code, 600)) // bounds the number of series, since webhooks choose the codes
	m.duration.WithLabelValues(h.Name, step, string(op), strconv.FormatBool(rejected)).Observe(took.Seconds())
	m.requests.WithLabelValues(h.Name, step, string(op), says, strconv.FormatBool(rejected)).Inc()
	switch {
	case left || err == nil:
	case rejected:
		m.refused.WithLabelValues(h.Name, step, string(op), kind, says).Inc()
	default:
		m.failOpens.WithLabelValues(h.Name, step).Inc()
	}
}
