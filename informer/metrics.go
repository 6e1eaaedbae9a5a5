package informer

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"
)

// informerMetrics are the metrics of an informer.
type informerMetrics struct {
	objects, unreadable int
	revision            float64
	synced              bool
	handlers            map[string]handlerMetrics
}

// handlerMetrics are the metrics of the handlers of one name.
type handlerMetrics struct {
	waiting, calls, panics int
}

// measure returns the current metrics.
func (i *Informer[T]) measure() informerMetrics {
	m := informerMetrics{objects: i.indexer.Len(), unreadable: i.Unreadable(), handlers: map[string]handlerMetrics{}}
	i.mu.Lock()
	defer i.mu.Unlock()
	m.revision, m.synced = float64(i.updater.progress.at), i.updater.filled
	for _, l := range i.handlers.listeners {
		h := m.handlers[l.name]
		l.count(&h)
		m.handlers[l.name] = h
	}
	return m
}

// count adds the metrics of a handler.
func (l *listener[T]) count(to *handlerMetrics) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to.waiting += l.waiting.length
	to.calls += l.calls
	to.panics += l.panics
}

var (
	ofInformer = []string{"resource", "version", "type", "scope"}
	ofHandler  = append(ofInformer[:len(ofInformer):len(ofInformer)], "handler")

	objectsMetric  = prometheus.NewDesc("informer_objects", "Objects in the cache.", ofInformer, nil)
	revisionMetric = prometheus.NewDesc("informer_store_resource_version",
		"The latest revision in the cache.", ofInformer, nil)
	syncedMetric     = prometheus.NewDesc("informer_synced", "1 once the cache is synced.", ofInformer, nil)
	unreadableMetric = prometheus.NewDesc("informer_unreadable_objects_total", "Objects that could not be decoded.",
		ofInformer, nil)
	waitingMetric = prometheus.NewDesc("informer_handler_waiting_objects", "Objects with pending notifications.",
		ofHandler, nil)
	callsMetric = prometheus.NewDesc("informer_handler_notices_total", "Notifications of the handler.",
		ofHandler, nil)
	panicsMetric = prometheus.NewDesc("informer_handler_panics_total", "Notifications in which the handler panicked.",
		ofHandler,
		nil)
)

var _ prometheus.Collector = (*Factory)(nil)

// Describe implements prometheus.Collector.
func (f *Factory) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{objectsMetric, revisionMetric, syncedMetric, unreadableMetric, waitingMetric,
		callsMetric, panicsMetric} {
		to <- d
	}
}

// Collect implements prometheus.Collector. It reads the state of all informers, so nothing is counted twice.
func (f *Factory) Collect(to chan<- prometheus.Metric) {
	for id, i := range f.all() {
		m, labels := i.measure(), id.labelValues()
		send := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, more ...string) {
			to <- prometheus.MustNewConstMetric(desc, kind, value, append(labels[:len(labels):len(labels)], more...)...)
		}
		synced := 0.0
		if m.synced {
			synced = 1
		}
		send(objectsMetric, prometheus.GaugeValue, float64(m.objects))
		send(revisionMetric, prometheus.GaugeValue, m.revision)
		send(syncedMetric, prometheus.GaugeValue, synced)
		send(unreadableMetric, prometheus.CounterValue, float64(m.unreadable))
		for name, h := range m.handlers {
			send(waitingMetric, prometheus.GaugeValue, float64(h.waiting), name)
			send(callsMetric, prometheus.CounterValue, float64(h.calls), name)
			send(panicsMetric, prometheus.CounterValue, float64(h.panics), name)
		}
	}
}

// labelValues returns the label values of an informer's metrics.
func (id identity) labelValues() []string {
	scope := cmp.Or(id.namespace, "*")
	if id.selects() {
		scope += "/" + id.labels + "/" + id.fields
	}
	return []string{id.resource.GroupResource().String(), id.resource.Version, id.goType.String(), scope}
}
