package cronjob

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/controller"
)

// parse reads the schedule of a cronjob, in its time zone. The library panics at some texts (TZ=0).
func parse(c *batchv1.CronJob) (schedule cron.Schedule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	text := c.Spec.Schedule
	if c.Spec.TimeZone != nil && !hasZone(text) {
		text = "TZ=" + *c.Spec.TimeZone + " " + text
	}
	return cron.ParseStandard(text)
}

// hasZone says that a schedule has a time zone of its own, as old ones may.
func hasZone(schedule string) bool { return strings.Contains(schedule, "TZ") }

// many is how many runs may have been missed before somebody is told.
const many = 100

// errNever is what is wrong with a schedule such as the 31st of February.
var errNever = errors.New("time difference between two schedules is less than 1 second")

// due is the last time up to now at which there should have been a run since another time, zero for none; missed says about how
// many there should have been, were there more than that one. Where the runs come at equal intervals it is not slower for many.
func due(schedule cron.Schedule, since, now time.Time) (last time.Time, missed int64, err error) {
	first := schedule.Next(since)
	second := schedule.Next(first)
	switch {
	case now.Before(first):
		return time.Time{}, 0, nil
	case now.Before(second):
		return first, 0, nil
	}
	interval := int64(second.Sub(first).Round(time.Second) / time.Second)
	if interval < 1 {
		return time.Time{}, 0, errNever
	}
	missed = int64(now.Sub(first)/time.Second)/interval + 1
	// Two intervals back, so that a schedule whose intervals differ is not overtaken.
	for t := schedule.Next(first.Add(time.Duration((missed-2)*interval) * time.Second)); !t.After(now); t = schedule.Next(t) {
		last = t
	}
	return last, missed, nil
}

// justAfter is how long after a time of the schedule a run is looked for: clocks differ by a little.
const justAfter = 100 * time.Millisecond

// untilNext is how long until the next run.
func untilNext(c *batchv1.CronJob, schedule cron.Schedule, now time.Time) time.Duration {
	since := begun(c)
	last, missed, err := due(schedule, since, now)
	switch {
	case err != nil || last.IsZero() && missed > 0:
		last = now
	case last.IsZero():
		last = since
	}
	return schedule.Next(last).Add(justAfter).Sub(now)
}

// begun is when the last run was due that there was, or since when there should be some.
func begun(c *batchv1.CronJob) time.Time {
	if last := c.Status.LastScheduleTime; last != nil {
		return last.Time
	}
	return c.CreationTimestamp.Time
}

// schedules remembers since when cronjobs have the schedules that they have, as far as they have changed since this process looks
// after them: a new schedule counts from then on, and what it would have had before is not made up for.
type schedules struct {
	mu sync.Mutex
	of map[controller.Request]scheduled
}

type scheduled struct {
	uid            types.UID
	schedule, zone string
	since          time.Time // zero for always
}

// since is when the schedule of a cronjob is from; zero where it has not been seen to change.
func (s *schedules) since(request controller.Request, c *batchv1.CronJob, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := scheduled{uid: c.UID, schedule: c.Spec.Schedule, zone: ptr.Deref(c.Spec.TimeZone, "")}
	was, seen := s.of[request]
	switch {
	case !seen || was.uid != is.uid:
	case was.schedule == is.schedule && was.zone == is.zone:
		is.since = was.since
	default:
		is.since = now
	}
	if s.of == nil {
		s.of = map[controller.Request]scheduled{}
	}
	s.of[request] = is
	return is.since
}

// forget is for what is gone.
func (s *schedules) forget(request controller.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, request)
}
