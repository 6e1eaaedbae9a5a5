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

// CheckQuota returns the health check that a tenth of a store's quota is left.
func CheckQuota(s *store.Store) func(context.Context) error {
	return func(context.Context) error {
		if u := s.Usage(); u.Near() {
			return fmt.Errorf("the objects have %d of at most %d bytes, and writes that exceed them are rejected: "+
				"delete objects, or restart the server with a larger --max-bytes", u.Bytes, u.Max)
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
	storageBytes = prometheus.NewDesc("apiserver_storage_size_bytes", "Bytes of the objects that are stored.",
		[]string{"storage_cluster_id"}, nil)
	quotaBytes = prometheus.NewDesc("bowline_store_quota_bytes", "Bytes that stored objects may have; 0 without a quota.",
		nil, nil)
	quotaRejections = prometheus.NewDesc("bowline_store_quota_rejections_total",
		"Writes that were rejected because the store or a namespace is full.", nil, nil)
)

// Collector collects the number of stored objects of each kind and of those that cannot be read, and the store's use
// of its quota.
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
	to <- storageBytes
	to <- quotaBytes
	to <- quotaRejections
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.MustNewConstMetric(damagedObjects, prometheus.GaugeValue, float64(len(c.Store.Damaged())))
	u := c.Store.Usage()
	to <- prometheus.MustNewConstMetric(storageBytes, prometheus.GaugeValue, float64(u.Bytes), "bowline-0")
	to <- prometheus.MustNewConstMetric(quotaBytes, prometheus.GaugeValue, float64(u.Max))
	to <- prometheus.MustNewConstMetric(quotaRejections, prometheus.CounterValue, float64(u.Rejected))
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
