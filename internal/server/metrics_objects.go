package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

var (
	resourceObjects = prometheus.NewDesc("apiserver_resource_objects", "Objects that are stored.",
		[]string{"group", "resource"}, nil)
	// storageObjects is the older name of the metric, for existing dashboards.
	storageObjects = prometheus.NewDesc("apiserver_storage_objects", "Objects that are stored, by resource and group.",
		[]string{"resource"}, nil)
)

// objectCounts collects the number of stored objects.
type objectCounts struct{ s *Server }

var _ prometheus.Collector = objectCounts{}

// Describe implements prometheus.Collector.
func (objectCounts) Describe(to chan<- *prometheus.Desc) {
	to <- resourceObjects
	to <- storageObjects
}

// Collect implements prometheus.Collector.
func (c objectCounts) Collect(to chan<- prometheus.Metric) {
	snapshot, err := c.s.store.Snapshot(context.Background(), store.AtLeast(0)) // never waits
	if err != nil {
		return // the store is closed
	}
	for _, k := range c.s.kinds.Kinds() {
		resource := k.Info().GroupResource()
		n := float64(snapshot.Len(object.Prefix(resource, ""), ""))
		to <- prometheus.MustNewConstMetric(resourceObjects, prometheus.GaugeValue, n, resource.Group,
			resource.Resource)
		to <- prometheus.MustNewConstMetric(storageObjects, prometheus.GaugeValue, n, resource.String())
	}
}
