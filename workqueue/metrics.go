package workqueue

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count what queues do, under client-go's names and with its buckets, and with controller-runtime's labels, except that
// the depth of a queue is not told apart by priority. It is a prometheus.Collector, safe for concurrent use.
type Metrics struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	waited, worked             *prometheus.HistogramVec

	mu sync.Mutex
	// refresh brings the gauges that grow with time up to date, for each queue.
	refresh []func()
}

var _ prometheus.Collector = (*Metrics)(nil)

// NewMetrics makes metrics without queues.
func NewMetrics() *Metrics {
	label := []string{"name", "controller"} // the same, as controller-runtime has it
	gauges := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, label)
	}
	counters := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, label)
	}
	seconds := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(10e-9, 10, 10)}, label)
	}
	return &Metrics{
		depth:      gauges("workqueue_depth", "Items that wait in order."),
		adds:       counters("workqueue_adds_total", "Items that were added."),
		waited:     seconds("workqueue_queue_duration_seconds", "How long items waited in order."),
		worked:     seconds("workqueue_work_duration_seconds", "How long the work on an item took."),
		retries:    counters("workqueue_retries_total", "Items that were added again because their work failed."),
		unfinished: gauges("workqueue_unfinished_work_seconds", "How long the items that are being worked on have been, together."),
		longest:    gauges("workqueue_longest_running_processor_seconds", "How long the item that is being worked on the longest has been."),
	}
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.depth, m.adds, m.waited, m.worked, m.retries, m.unfinished, m.longest}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, refresh := range m.refresh {
		refresh()
	}
	for _, c := range m.all() {
		c.Collect(to)
	}
}

// Measure counts what the queue does from now on, under a name that no other queue of m has. It must be called before
// the queue is used, and once at most.
func (q *Queue[T]) Measure(m *Metrics, name string) {
	q.measured = &measured{
		depth: m.depth.WithLabelValues(name, name), adds: m.adds.WithLabelValues(name, name), retries: m.retries.WithLabelValues(name, name),
		waited: m.waited.WithLabelValues(name, name), worked: m.worked.WithLabelValues(name, name),
		start: time.Now(),
	}
	unfinished, longest := m.unfinished.WithLabelValues(name, name), m.longest.WithLabelValues(name, name)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refresh = append(m.refresh, func() {
		total, most := q.underWork()
		unfinished.Set(total.Seconds())
		longest.Set(most.Seconds())
	})
}

// underWork is how long the items that are being worked on have been: together, and the one that is the longest.
func (q *Queue[T]) underWork() (total, most time.Duration) {
	q.lock()
	defer q.unlock()
	for e := range q.entries.all() {
		if e.processing {
			took := q.measured.since(e.begun)
			total, most = total+took, max(most, took)
		}
	}
	return total, most
}

// measured is what is counted of one queue, under its lock. Nil counts nothing, and looks at no clock.
type measured struct {
	depth          prometheus.Gauge
	adds, retries  prometheus.Counter
	waited, worked prometheus.Observer
	start          time.Time // of its clock
}

func (m *measured) now() int64 { return int64(time.Since(m.start)) }

func (m *measured) since(at int64) time.Duration { return time.Duration(m.now() - at) }

func (m *measured) add(added *int64) {
	if m == nil {
		return
	}
	m.adds.Inc()
	m.depth.Inc()
	*added = m.now()
}

func (m *measured) take(added int64, begun *int64) {
	if m == nil {
		return
	}
	m.depth.Dec()
	m.waited.Observe(m.since(added).Seconds())
	*begun = m.now()
}

func (m *measured) done(begun int64) {
	if m != nil {
		m.worked.Observe(m.since(begun).Seconds())
	}
}

func (m *measured) retry() {
	if m != nil {
		m.retries.Inc()
	}
}
