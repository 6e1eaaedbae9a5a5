package operations

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// CheckDamage returns the health check that everything in a store can be read.
func CheckDamage(s *store.Store) func(context.Context) error {
	return func(context.Context) error {
		if n := len(s.Damaged()); n > 0 {
			return fmt.Errorf("%d objects are damaged and cannot be read: bowline verify names them", n)
		}
		return nil
	}
}

var (
	resourceObjects = prometheus.NewDesc("apiserver_resource_objects", "Objects that are stored.",
		[]string{"group", "resource"}, nil)
	// storageObjects is the older name of the metric, for existing dashboards.
	storageObjects = prometheus.NewDesc("apiserver_storage_objects", "Objects that are stored, by resource and group.",
		[]string{"resource"}, nil)
	damagedObjects = prometheus.NewDesc("bowline_store_damaged_objects", "Objects that are stored and cannot be read.",
		nil, nil)
)

// Collector collects the number of stored objects of each kind, and of those that cannot be read.
type Collector struct {
	Store *store.Store
	Kinds *kind.Registry
}

var _ prometheus.Collector = Collector{}

// Describe implements prometheus.Collector.
func (Collector) Describe(to chan<- *prometheus.Desc) {
	to <- resourceObjects
	to <- storageObjects
	to <- damagedObjects
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.MustNewConstMetric(damagedObjects, prometheus.GaugeValue, float64(len(c.Store.Damaged())))
	snapshot, err := c.Store.Snapshot(context.Background(), store.AtLeast(0)) // never waits
	if err != nil {
		return // the store is closed
	}
	for _, k := range c.Kinds.Kinds() {
		resource := k.Info().GroupResource()
		n := float64(snapshot.Len(object.Prefix(resource, ""), ""))
		to <- prometheus.MustNewConstMetric(resourceObjects, prometheus.GaugeValue, n, resource.Group,
			resource.Resource)
		to <- prometheus.MustNewConstMetric(storageObjects, prometheus.GaugeValue, n, resource.String())
	}
}
