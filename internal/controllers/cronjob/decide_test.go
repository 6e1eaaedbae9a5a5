package cronjob

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
)

// hourly returns a cronjob that last ran at noon.
func hourly(t *testing.T) *batchv1.CronJob {
	c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "hourly", Namespace: "default", UID: "c"}}
	c.Spec.Schedule, c.Spec.ConcurrencyPolicy = "0 * * * *", batchv1.AllowConcurrent
	c.Status.LastScheduleTime = ptr.To(metav1.NewTime(at(t, "2030-01-01 12:00:00")))
	return c
}

func decided(t *testing.T, c *batchv1.CronJob, now string, jobs ...*batchv1.Job) string {
	var lines []string
	for _, a := range Decide(Input{CronJob: c, Jobs: jobs, Now: at(t, now)}) {
		parts := []fmt.Stringer{a}
		if sure, is := a.(action.Guard); is {
			parts = nil
			for _, q := range sure.Preconditions {
				parts = append(parts, q)
			}
			for _, then := range sure.Then {
				parts = append(parts, then)
			}
		}
		for _, part := range parts {
			lines = append(lines, part.String())
		}
	}
	return strings.Join(lines, "; ")
}

// Where jobs must not overlap, the server is asked for other jobs before one is created.
func TestOverlapIsCheckedWithTheServer(t *testing.T) {
	t.Parallel()
	c := hourly(t)
	name := jobName(c, at(t, "2030-01-01 13:00:00"))
	const now = "2030-01-01 13:00:01"
	if got := decided(t, c, now); strings.Contains(got, "added or removed") ||
		!strings.Contains(got, "create job/"+name) {
		t.Errorf("Allow: got actions %q, want a job without a check for other jobs", got)
	}
	c.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent
	if got := decided(t, c, now); !strings.Contains(got, "check that no jobs of hourly were added or removed; ") ||
		!strings.HasSuffix(got, "create job/"+name) {
		t.Errorf("Forbid: got actions %q, want a check for other jobs before the job", got)
	}
}

func TestHugeStartingDeadlineDoesNotOverflow(t *testing.T) {
	t.Parallel()
	c := hourly(t)
	c.Spec.StartingDeadlineSeconds = ptr.To[int64](math.MaxInt64)
	if got := decided(t, c, "2030-01-01 13:00:01"); !strings.Contains(got, "create job/") {
		t.Errorf("got actions %q, want a job", got)
	}
}

// A job annotated with a future time does not stop the schedule until then.
func TestFutureJobsDoNotStopTheSchedule(t *testing.T) {
	t.Parallel()
	c := hourly(t)
	for when, want := range map[string]bool{"2999-01-01 12:00:00": true, "2030-01-01 13:00:00": false} {
		j := newJob(c, at(t, when))
		j.UID = "j"
		if got := decided(t, c, "2030-01-01 13:00:01", j); strings.Contains(got, "create job/") != want {
			t.Errorf("with a job for %s: got actions %q, want a new job: %t", when, got, want)
		}
	}
}

func TestNewSchedulesApplyFromTheirObservation(t *testing.T) {
	t.Parallel()
	var s schedules
	c := hourly(t)
	now := at(t, "2030-01-01 12:30:00")
	request := informer.KeyOf(c)
	if since := s.since(request, c, now); !since.IsZero() {
		t.Errorf("first observation: got %s, want the zero time", since)
	}
	c.Spec.Schedule = "*/10 * * * *"
	for range 2 {
		if since := s.since(request, c, now); !since.Equal(at(t, "2030-01-01 12:30:00")) {
			t.Errorf("changed schedule: got %s, want the time of its first observation", since)
		}
		now = now.Add(time.Minute)
	}
	c.Spec.TimeZone = ptr.To("America/New_York")
	if since := s.since(request, c, now); !since.Equal(now) {
		t.Errorf("changed time zone: got %s, want %s", since, now)
	}
	c.UID = "another"
	if since := s.since(request, c, now); !since.IsZero() {
		t.Errorf("recreated cronjob: got %s, want the zero time", since)
	}
	s.since(request, hourly(t), now)
	if s.remove(request); len(s.byRequest) != 0 {
		t.Errorf("after remove: got %d records, want none", len(s.byRequest))
	}
}

// A cronjob has a limited number of jobs, whatever its history limits are, and creates the next one when there is room.
func TestJobsOfOneCronJobAreLimited(t *testing.T) {
	t.Parallel()
	c := hourly(t)
	c.Spec.SuccessfulJobsHistoryLimit = ptr.To[int32](math.MaxInt32)
	var jobs []*batchv1.Job
	for i := range podlimit.MaxJobs {
		j := newJob(c, at(t, "2030-01-01 12:00:00").Add(-time.Duration(i)*time.Hour))
		j.UID = types.UID(j.Name)
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		jobs = append(jobs, j)
	}
	const now = "2030-01-01 13:00:01"
	if got := decided(t, c, now, jobs...); strings.Contains(got, "create job/") ||
		!strings.Contains(got, "event FailedCreate on hourly: Error creating: at most 5000 jobs of one cronjob may exist") {
		t.Errorf("at the limit: got actions %.300q, want an event and no job", got)
	}
	if got := decided(t, c, now, jobs[1:]...); !strings.Contains(got, "create job/") {
		t.Errorf("below the limit: got actions %.300q, want a job", got)
	}
	c.Spec.SuccessfulJobsHistoryLimit = ptr.To[int32](podlimit.MaxJobs - 1)
	if got := decided(t, c, now, jobs...); !strings.Contains(got, "create job/") || !strings.Contains(got, "delete job/") {
		t.Errorf("with a lower history limit: got actions %.300q, want a job deleted and one created", got)
	}
}
