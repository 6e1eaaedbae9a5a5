package cronjob_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/cronjob"
	"github.com/bowline-dev/bowline/internal/trial"
)

// slow is a transport that delays the first response to a status write by half a minute.
type slow struct {
	http.RoundTripper
	once    sync.Once
	written chan struct{} // closed after the first status write
}

func (s *slow) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := s.RoundTripper.RoundTrip(q)
	if q.Method == http.MethodPut && strings.HasSuffix(q.URL.Path, "/status") {
		s.once.Do(func() {
			close(s.written)
			time.Sleep(30 * time.Second)
		})
	}
	return answer, err
}

// A job is created only if the cronjob is unchanged since the decision, however long earlier writes take.
// Events for the written status are recorded in any case.
func TestRunsRequireAnUnchangedCronJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, cronJobs client.Resource[*batchv1.CronJob]) error
		jobs      int
	}{
		"nothing": {func(*testing.T, client.Resource[*batchv1.CronJob]) error { return nil }, 1},
		"suspended": {func(t *testing.T, cronJobs client.Resource[*batchv1.CronJob]) error {
			return suspend(t.Context(), cronJobs, true)
		}, 0},
		"deleted": {func(t *testing.T, cronJobs client.Resource[*batchv1.CronJob]) error {
			return cronJobs.Delete(t.Context(), "default", "hourly", metav1.DeleteOptions{})
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
				missed(t, p)
				config := rest.CopyConfig(p.RESTConfig())
				way := &slow{RoundTripper: config.Transport, written: make(chan struct{})}
				config.Transport = way
				defer start(t, trial.Of(cronjob.Add), config)()
				<-way.written
				if err := c.meanwhile(t, bowlinetest.Client[*batchv1.CronJob](t, p)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(45 * time.Second)
				jobs, err := bowlinetest.Client[*batchv1.Job](t, p).List(t.Context(), "default", metav1.ListOptions{})
				if err != nil || len(jobs.Items) != c.jobs {
					t.Errorf("got %d jobs (%v), want %d", len(jobs.Items), err, c.jobs)
				}
				which := metav1.ListOptions{FieldSelector: "reason=MissingJob"}
				events, err := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "default", which)
				if err != nil || len(events.Items) != 1 {
					t.Errorf("got %d MissingJob events (%v), want 1", len(events.Items), err)
				}
			}, trial.Alone())
		})
	}
}

// missed creates a cronjob with a missing job and a due run, while no controller is running.
func missed(t *testing.T, p *bowlinetest.Plane) {
	t.Helper()
	cronJobs := bowlinetest.Client[*batchv1.CronJob](t, p)
	c := idle("0 * * * *")
	c.Spec.JobTemplate.Spec.ManagedBy = new("example.com/nobody")
	c, err := cronJobs.Create(t.Context(), c, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	gone := corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: "gone", UID: "gone"}
	c.Status.Active = []corev1.ObjectReference{gone}
	if _, err := cronJobs.UpdateStatus(t.Context(), c, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(90 * time.Minute)
}

// start runs a program until stop is called.
func start(t *testing.T, p trial.Program, config *rest.Config) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p(ctx, config); err != nil {
			t.Error(err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
