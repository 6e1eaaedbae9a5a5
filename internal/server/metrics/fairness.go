package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bowline-dev/bowline/internal/server/fair"
)

// Names and labels are those of Kubernetes' priority and fairness
// (k8s.io/apiserver/pkg/util/flowcontrol/metrics). All requests are of one level and schema, which Kubernetes
// names global-default.
var (
	levelLabels = []string{"priority_level"}
	flowLabels  = []string{"priority_level", "flow_schema"}

	waitingRequests = prometheus.NewDesc("apiserver_flowcontrol_current_inqueue_requests",
		"Requests that wait for seats.", flowLabels, nil)
	workingRequests = prometheus.NewDesc("apiserver_flowcontrol_current_executing_requests",
		"Requests that hold seats.", flowLabels, nil)
	heldSeats = prometheus.NewDesc("apiserver_flowcontrol_current_executing_seats", "Seats held by running requests.",
		flowLabels, nil)
	allSeats = prometheus.NewDesc("apiserver_flowcontrol_nominal_limit_seats", "Total number of seats.",
		levelLabels, nil)
	startedRequests = prometheus.NewDesc("apiserver_flowcontrol_dispatched_requests_total",
		"Requests that got their seats.", flowLabels, nil)
	refusedRequests = prometheus.NewDesc("apiserver_flowcontrol_rejected_requests_total",
		"Requests that got no seats: there was no place to wait, "+
			"they had waited too long, or their client had gone.", append(flowLabels, "reason"), nil)
)

const priorityLevel = "global-default"

// Fairness collects the statistics of a queue.
type Fairness struct{ Queue *fair.Queue }

var _ prometheus.Collector = Fairness{}

// Describe implements prometheus.Collector.
func (Fairness) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{waitingRequests, workingRequests, heldSeats, allSeats, startedRequests,
		refusedRequests} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (f Fairness) Collect(to chan<- prometheus.Metric) {
	now := f.Queue.Stats()
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge(waitingRequests, now.Waiting, priorityLevel, priorityLevel)
	gauge(workingRequests, now.Working, priorityLevel, priorityLevel)
	gauge(heldSeats, now.Seats, priorityLevel, priorityLevel)
	gauge(allSeats, f.Queue.Limits().Seats, priorityLevel)
	counter(startedRequests, now.Started, priorityLevel, priorityLevel)
	counter(refusedRequests, now.Full, priorityLevel, priorityLevel, "queue-full")
	counter(refusedRequests, now.Late, priorityLevel, priorityLevel, "time-out")
	counter(refusedRequests, now.Gone, priorityLevel, priorityLevel, "cancelled")
}
