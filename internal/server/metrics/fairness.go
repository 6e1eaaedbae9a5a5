package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bowline-dev/bowline/internal/server/fair"
)

// Names and labels are those of Kubernetes' priority and fairness
// (k8s.io/apiserver/pkg/util/flowcontrol/metrics).
var (
	levelLabels = []string{"priority_level"}
	flowLabels  = []string{"priority_level", "flow_schema"}

	waitingRequests = prometheus.NewDesc("apiserver_flowcontrol_current_inqueue_requests",
		"Requests that wait for seats.", flowLabels, nil)
	workingRequests = prometheus.NewDesc("apiserver_flowcontrol_current_executing_requests",
		"Requests that hold seats.", flowLabels, nil)
	heldSeats = prometheus.NewDesc("apiserver_flowcontrol_current_executing_seats", "Seats held by running requests.",
		flowLabels, nil)
	nominalSeats = prometheus.NewDesc("apiserver_flowcontrol_nominal_limit_seats",
		"The part of a level in the seats; of the exempt level, all seats.", levelLabels, nil)
	startedRequests = prometheus.NewDesc("apiserver_flowcontrol_dispatched_requests_total",
		"Requests that got their seats.", flowLabels, nil)
	refusedRequests = prometheus.NewDesc("apiserver_flowcontrol_rejected_requests_total",
		"Requests that got no seats: there was no place to wait, "+
			"they had waited too long, or their client had gone.", append(flowLabels, "reason"), nil)
)

// Fairness collects the statistics of a queue.
type Fairness struct{ Queue *fair.Queue }

var _ prometheus.Collector = Fairness{}

// Describe implements prometheus.Collector.
func (Fairness) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{waitingRequests, workingRequests, heldSeats, nominalSeats, startedRequests,
		refusedRequests} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (f Fairness) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	for _, now := range f.Queue.Classes() {
		gauge(waitingRequests, now.Waiting, now.Level, now.Schema)
		gauge(workingRequests, now.Working, now.Level, now.Schema)
		gauge(heldSeats, now.Seats, now.Level, now.Schema)
		counter(startedRequests, now.Started, now.Level, now.Schema)
		counter(refusedRequests, now.Full, now.Level, now.Schema, "queue-full")
		counter(refusedRequests, now.Late, now.Level, now.Schema, "time-out")
		counter(refusedRequests, now.Gone, now.Level, now.Schema, "cancelled")
	}
	for level, seats := range f.Queue.Levels() {
		if level == fair.ExemptLevel {
			seats = f.Queue.Limits().Seats
		}
		gauge(nominalSeats, seats, level)
	}
}
