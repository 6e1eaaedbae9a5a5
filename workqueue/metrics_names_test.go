package workqueue_test

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bowline-dev/bowline/workqueue"
)

// Dashboards rely on these names: client-go's metrics, with controller-runtime's labels.
func TestMetricNamesMatchClientGo(t *testing.T) {
	t.Parallel()
	metrics := workqueue.NewMetrics()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics)
	for _, name := range []string{"ships", "ports"} {
		q := workqueue.New[string](nil)
		q.Measure(metrics, name)
		defer q.ShutDown()
		q.Add("a")
		q.Get(t.Context())
		q.AddRateLimited("a")
		q.Done("a")
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, family := range families {
		names = append(names, family.GetName())
		queues := map[string]bool{}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range m.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if queues[labels["name"]] = true; labels["controller"] != labels["name"] {
				t.Errorf("%s: got labels %v, want the same name and controller", family.GetName(), labels)
			}
		}
		if len(queues) != 2 || !queues["ships"] || !queues["ports"] {
			t.Errorf("%s: got queues %v, want ships and ports", family.GetName(), queues)
		}
	}
	slices.Sort(names)
	if want := []string{
		"workqueue_adds_total", "workqueue_depth", "workqueue_longest_running_processor_seconds",
		"workqueue_queue_duration_seconds",
		"workqueue_retries_total", "workqueue_unfinished_work_seconds", "workqueue_work_duration_seconds",
	}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
