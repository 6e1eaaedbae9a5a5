package cronjob

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// counting counts the searches for a next time.
type counting struct {
	cron.Schedule
	searches *int
}

func (c counting) Next(t time.Time) time.Time {
	*c.searches++
	return c.Schedule.Next(t)
}

// extremeTimes are times that clients may write to a status, and that a restored backup may have as creation times.
var extremeTimes = []time.Time{
	{}, time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC),
	time.Date(1700, 2, 28, 23, 59, 59, 999, time.UTC), time.Unix(0, 0), time.Date(1993, 8, 1, 0, 0, 0, 0, time.UTC),
	time.Date(2011, 12, 1, 0, 0, 0, 0, time.UTC), time.Date(2030, 1, 1, 11, 59, 59, 1, time.UTC),
	time.Date(2096, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
}

// The number of searches is bounded, and each search ends, whatever the schedule, the zone and the times are.
func TestSearchesAreBounded(t *testing.T) {
	t.Parallel()
	const most = 64
	for _, text := range []string{
		"* * * * *", "@every 1s", "@every 90m", "@every 2562047h", "@hourly", "@yearly", "0 0 29 2 *", "* * 29 2 *",
		"* * * 1-6 *", "0 5 * * 5", "30 6-16/4 * * 1-5", "0 0 31 12 *", "59 23 31 2 *", "17 3 30,31 8,12 6",
	} {
		for _, zone := range []string{"", "Etc/UTC", "Pacific/Apia", "Pacific/Kwajalein", "Africa/Monrovia",
			"Africa/Casablanca", "America/Sao_Paulo", "Australia/Lord_Howe"} {
			cronJob := &batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: text}}
			if zone != "" {
				cronJob.Spec.TimeZone = &zone
			}
			schedule, err := parse(cronJob)
			if err != nil {
				t.Fatal(err)
			}
			for _, since := range extremeTimes {
				for _, now := range extremeTimes[3:] {
					var searches int
					last, _, err := due(counting{schedule, &searches}, since, now)
					if err == nil && last.After(now) || !last.IsZero() && !last.After(since) || searches > most {
						t.Errorf("%s in %q from %s to %s: got %s (%v) after %d searches, want a time between them "+
							"after at most %d", text, zone, since, now, last, err, searches, most)
					}
				}
			}
		}
	}
}

// A status or a creation time from long ago has the event that Kubernetes records for too many missed runs, and starts
// the most recent one.
func TestRunsMissedForCenturiesAreOneRun(t *testing.T) {
	t.Parallel()
	const now = "2030-01-01 13:00:01"
	for name, change := range map[string]func(*batchv1.CronJob){
		"last run in year 1": func(c *batchv1.CronJob) {
			c.Status.LastScheduleTime = ptr.To(metav1.NewTime(time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)))
		},
		"created in year 1": func(c *batchv1.CronJob) { c.Status.LastScheduleTime = nil },
		"huge deadline": func(c *batchv1.CronJob) {
			c.Status.LastScheduleTime = ptr.To(metav1.NewTime(time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)))
			c.Spec.StartingDeadlineSeconds = ptr.To[int64](math.MaxInt64)
		},
	} {
		c := hourly(t)
		change(c)
		run := "create job/" + jobName(c, at(t, "2030-01-01 13:00:00"))
		if got := decided(t, c, now); !strings.Contains(got, "event TooManyMissedTimes") ||
			!strings.HasSuffix(got, run) {
			t.Errorf("%s: got actions %q, want TooManyMissedTimes and %s", name, got, run)
		}
	}
}

// The times that a validated object cannot have do no harm either.
func TestInvalidNumbersAreHarmless(t *testing.T) {
	t.Parallel()
	c := hourly(t)
	c.Spec.StartingDeadlineSeconds = ptr.To[int64](math.MinInt64)
	c.Spec.SuccessfulJobsHistoryLimit, c.Spec.FailedJobsHistoryLimit = ptr.To[int32](-1), ptr.To[int32](math.MinInt32)
	j := newJob(c, at(t, "2030-01-01 12:00:00"))
	j.UID, j.Status.Conditions = "j", []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}
	if got := decided(t, c, "2030-01-01 13:00:01", j); !strings.Contains(got, "delete job/"+j.Name) {
		t.Errorf("got actions %q, want the deletion of %s", got, j.Name)
	}
}

// A schedule without a time in the next years is checked again later, and not at once.
func TestRareDatesAreCheckedDaily(t *testing.T) {
	t.Parallel()
	c := hourly(t)
	c.Spec.Schedule = "0 0 29 2 *"
	c.Status.LastScheduleTime = ptr.To(metav1.NewTime(at(t, "2096-02-29 00:00:00")))
	schedule, err := parse(c)
	if err != nil {
		t.Fatal(err)
	}
	if wait := untilNext(c, schedule, at(t, "2096-03-01 00:00:00")); wait != checkAgain {
		t.Errorf("got %s, want %s", wait, checkAgain)
	}
}

// A zone that skips a day, or has days that begin at one o'clock, loses no other day.
func TestNextInZonesThatSkipMidnight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, schedule, after, want string }{
		{"Pacific/Apia", "0 0 31 12 *", "2011-12-01 00:00:00", "2011-12-30 10:00:00"},
		{"Pacific/Apia", "0 0 30 12 *", "2011-12-01 00:00:00", "2012-12-29 10:00:00"},
		{"Africa/Cairo", "0 5 * * 5", "2024-04-20 00:00:00", "2024-04-26 02:00:00"},
		{"Africa/Cairo", "0 0 26 4 *", "2024-04-20 00:00:00", "2025-04-25 21:00:00"},
		{"Australia/Lord_Howe", "15 2 * * *", "2030-10-05 00:00:00", "2030-10-06 15:15:00"},
	} {
		cronJob := &batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: c.schedule, TimeZone: &c.zone}}
		schedule, err := parse(cronJob)
		if err != nil {
			t.Fatal(err)
		}
		if got := schedule.Next(at(t, c.after)); !got.Equal(at(t, c.want)) {
			t.Errorf("%s in %s after %s: got %s, want %s", c.schedule, c.zone, c.after, got, c.want)
		}
	}
}
