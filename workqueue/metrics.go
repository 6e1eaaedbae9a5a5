package workqueue

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics measures queues under client-go's metric names and buckets, with controller-runtime's labels: the
// depth of a queue is labeled by priority, which is -100 for Low, 0 for Normal and 100 for High. Metrics is a
// prometheus.Collector and safe for concurrent use.
type Metrics struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	waited, worked             *prometheus.HistogramVec

	mu sync.Mutex
	// refresh updates the gauges of each queue.
	refresh []func()
}

var _ prometheus.Collector = (*Metrics)(nil)

// NewMetrics returns metrics without queues. Pass them to Queue.Measure, and register them with a
// prometheus.Registerer.
func NewMetrics() *Metrics {
	label := []string{"name", "controller"} // controller-runtime sets both labels to the same value
	gauges := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, label)
	}
	counters := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, label)
	}
	seconds := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(10e-9, 10, 10)}, label)
	}
	return &Metrics{
		depth: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "workqueue_depth", Help: "Queued items, by priority.",
		}, append(label, "priority")),
		adds:    counters("workqueue_adds_total", "Added items."),
		waited:  seconds("workqueue_queue_duration_seconds", "The time that items were queued."),
		worked:  seconds("workqueue_work_duration_seconds", "The processing time of items."),
		retries: counters("workqueue_retries_total", "Items that were requeued after a failure."),
		unfinished: gauges("workqueue_unfinished_work_seconds",
			"The total processing time of the items in progress."),
		longest: gauges("workqueue_longest_running_processor_seconds",
			"The processing time of the longest-running item."),
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

// Measure adds the queue to m under a name that must be unique in m. It must be called before the queue is used, and at
// most once.
func (q *Queue[T]) Measure(m *Metrics, name string) {
	q.measured = &measured{
		adds: m.adds.WithLabelValues(name, name), retries: m.retries.WithLabelValues(name, name),
		waited: m.waited.WithLabelValues(name, name), worked: m.worked.WithLabelValues(name, name),
		start: time.Now(),
	}
	var depth [High - Low + 1]prometheus.Gauge
	for k := range depth {
		depth[k] = m.depth.WithLabelValues(name, name, strconv.Itoa(100*(k+int(Low))))
	}
	unfinished, longest := m.unfinished.WithLabelValues(name, name), m.longest.WithLabelValues(name, name)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refresh = append(m.refresh, func() {
		q.lock()
		now := q.entries.snapshot(q.measured)
		q.unlock()
		for k := range depth {
			depth[k].Set(float64(now.waiting[k]))
		}
		unfinished.Set(now.total.Seconds())
		longest.Set(now.most.Seconds())
	})
}

// snapshot is the state of a queue's entries.
type snapshot struct {
	waiting     [High - Low + 1]int // waiting items by priority
	total, most time.Duration       // processing times of the current items: their sum and their maximum
}

// snapshot counts the entries. m measures how long they have been processed.
func (t *table[T]) snapshot(m *measured) (s snapshot) {
	for e := range t.all() {
		if e.dirty {
			s.waiting[e.priority-Low]++
		}
		if e.processing {
			took := m.since(e.started)
			s.total, s.most = s.total+took, max(s.most, took)
		}
	}
	return s
}

// measured holds the metrics of one queue. It does not change after Measure. The methods add, take, done and retry of a
// nil *measured record nothing and do not read the clock.
type measured struct {
	adds, retries  prometheus.Counter
	waited, worked prometheus.Observer
	start          time.Time // origin of the times in nanoseconds
}

func (m *measured) now() int64 { return int64(time.Since(m.start)) }

func (m *measured) since(at int64) time.Duration { return time.Duration(m.now() - at) }

func (m *measured) add(added *int64) {
	if m == nil {
		return
	}
	m.adds.Inc()
	*added = m.now()
}

func (m *measured) dequeued(added int64, started *int64) {
	if m == nil {
		return
	}
	m.waited.Observe(m.since(added).Seconds())
	*started = m.now()
}

func (m *measured) done(started int64) {
	if m != nil {
		m.worked.Observe(m.since(started).Seconds())
	}
}

func (m *measured) retry() {
	if m != nil {
		m.retries.Inc()
	}
}
