package cronjob

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestDueReturnsTheLastRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schedule, since, now, want string
		missed                     int64
	}{
		{"0 * * * *", "2030-01-01 12:00:00", "2030-01-01 12:59:59", "", 0},
		{"0 * * * *", "2030-01-01 12:00:00", "2030-01-01 13:00:00", "2030-01-01 13:00:00", 0},
		{"0 * * * *", "2030-01-01 12:00:00", "2030-01-01 15:30:00", "2030-01-01 15:00:00", 3},
		{"0 * * * *", "2030-01-01 12:00:00", "2040-01-01 12:00:30", "2040-01-01 12:00:00", 10*365*24 + 2*24},
		{"@every 45m", "2030-01-01 12:00:00", "2030-01-01 15:00:00", "2030-01-01 15:00:00", 4},
		// Unequal intervals: working days and office hours.
		{"30 6-16/4 * * 1-5", "2030-01-04 06:30:00", "2030-01-07 06:31:00", "2030-01-07 06:30:00", 18},
		{"30 6-16/4 * * 1-5", "2030-01-04 10:30:00", "2030-01-06 12:00:00", "2030-01-04 14:30:00", 0},
	} {
		schedule, err := cron.ParseStandard(c.schedule)
		if err != nil {
			t.Fatal(err)
		}
		got, missed, err := due(schedule, at(t, c.since), at(t, c.now))
		if err != nil {
			t.Fatal(err)
		}
		want := time.Time{}
		if c.want != "" {
			want = at(t, c.want)
		}
		if !got.Equal(want) || missed != c.missed {
			t.Errorf("%s from %s to %s: got %s, %d missed; want %s, %d", c.schedule, c.since, c.now, got, missed, want,
				c.missed)
		}
	}
}

func TestImpossibleDateIsAnError(t *testing.T) {
	t.Parallel()
	schedule, err := cron.ParseStandard("0 0 31 2 *")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := due(schedule, at(t, "2030-01-01 12:00:00"), at(t, "2030-01-02 12:00:00")); err != errNever {
		t.Error(err)
	}
}

// In New York, 02:30 does not exist on the second Sunday in March, and 01:30 occurs twice on the first Sunday
// in November.
func TestDaylightSavingTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schedule, now, want string }{
		{"30 2 * * *", "2030-03-09 12:00:00", "2030-03-11 06:30:00"},
		{"30 1 * * *", "2030-11-02 12:00:00", "2030-11-03 05:30:00"},
		{"30 1 * * *", "2030-11-03 05:30:00", "2030-11-03 06:30:00"},
	} {
		cronJob := &batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: c.schedule,
			TimeZone: ptr.To("America/New_York")}}
		schedule, err := parse(cronJob)
		if err != nil {
			t.Fatal(err)
		}
		if got := schedule.Next(at(t, c.now)).UTC(); !got.Equal(at(t, c.want)) {
			t.Errorf("%s after %s: got %s, want %s", c.schedule, c.now, got, c.want)
		}
	}
}

func TestInvalidSchedulesAreErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "TZ=0", "* * * *", "60 * * * *", "@sometimes", "*/0 * * * *"} {
		if _, err := parse(&batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: text}}); err == nil {
			t.Errorf("schedule %q: got no error", text)
		}
	}
}
