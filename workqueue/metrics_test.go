package workqueue_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bowline-dev/bowline/workqueue"
)

// TestMetricsOfQueueWorkAndRetries processes two items in virtual time and compares all metrics.
func TestMetricsOfQueueWorkAndRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics := workqueue.NewMetrics()
		q := workqueue.New[string](workqueue.NewExponential[string](time.Minute, time.Hour))
		q.Measure(metrics, "loop")
		defer q.ShutDown()
		q.Add("a")
		q.Add("a") // is there already
		q.Add("b")
		wantMetrics(t, metrics, "workqueue_adds_total 2", "workqueue_depth 0: 2")
		time.Sleep(2 * time.Second)
		item, _ := q.Get(t.Context())
		time.Sleep(3 * time.Second)
		wantMetrics(t, metrics, "workqueue_depth 0: 1", "workqueue_queue_duration_seconds 1 of 2s",
			"workqueue_unfinished_work_seconds 3", "workqueue_longest_running_processor_seconds 3")
		q.AddRateLimited(item)
		q.Done(item)
		wantMetrics(t, metrics, "workqueue_retries_total 1", "workqueue_work_duration_seconds 1 of 3s",
			"workqueue_adds_total 2",
			"workqueue_unfinished_work_seconds 0")
		time.Sleep(2 * time.Minute)
		wantMetrics(t, metrics, "workqueue_adds_total 3", "workqueue_depth 0: 2")
	})
}

// TestReaddedItemWaitsFromItsAdd checks that the waiting time of an item that is added while it is processed begins
// with that Add.
func TestReaddedItemWaitsFromItsAdd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics := workqueue.NewMetrics()
		q := workqueue.New[string](nil)
		q.Measure(metrics, "loop")
		defer q.ShutDown()
		q.Add("a")
		q.Get(t.Context())
		q.Add("a")
		time.Sleep(5 * time.Second)
		q.Done("a")
		q.Get(t.Context())
		wantMetrics(t, metrics, "workqueue_adds_total 2", "workqueue_depth 0: 0",
			"workqueue_queue_duration_seconds 2 of 5s",
			"workqueue_work_duration_seconds 1 of 5s")
	})
}

// TestDepthIsReportedByPriority checks that an item whose priority was raised counts under its new priority.
func TestDepthIsReportedByPriority(t *testing.T) {
	t.Parallel()
	metrics := workqueue.NewMetrics()
	q := workqueue.New[string](nil)
	q.Measure(metrics, "loop")
	defer q.ShutDown()
	for _, item := range []string{"a", "b", "c"} {
		q.AddWithPriority(item, workqueue.Low)
	}
	q.AddWithPriority("d", workqueue.High)
	q.Add("a")
	wantMetrics(t, metrics, "workqueue_depth -100: 2", "workqueue_depth 0: 1", "workqueue_depth 100: 1")
	item, _ := q.Get(t.Context())
	q.AddWithPriority(item, workqueue.Low) // while it is worked on
	wantMetrics(t, metrics, "workqueue_depth -100: 3", "workqueue_depth 0: 1", "workqueue_depth 100: 0")
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func wantMetrics(t *testing.T, metrics *workqueue.Metrics, want ...string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName() + " "
			for _, label := range m.GetLabel() {
				if label.GetName() == "priority" {
					name += label.GetValue() + ": "
				}
			}
			switch {
			case m.Histogram != nil:
				took := time.Duration(m.Histogram.GetSampleSum() * float64(time.Second)).Round(time.Millisecond)
				got = append(got, name+number(float64(m.Histogram.GetSampleCount()))+" of "+took.String())
			case m.Counter != nil:
				got = append(got, name+number(m.Counter.GetValue()))
			default:
				got = append(got, name+number(m.Gauge.GetValue()))
			}
		}
	}
	for _, w := range want {
		if !strings.Contains("\n"+strings.Join(got, "\n")+"\n", "\n"+w+"\n") {
			t.Errorf("got\n%s\nwant the line %q", strings.Join(got, "\n"), w)
		}
	}
}
