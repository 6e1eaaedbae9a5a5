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

// parse parses the schedule of a cronjob in its time zone. The library panics on some inputs, such as "TZ=0".
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

// hasZone reports whether a schedule contains a time zone, as old ones may.
func hasZone(schedule string) bool { return strings.Contains(schedule, "TZ") }

// manyMissed is the number of missed runs above which a warning is recorded.
const manyMissed = 100

// errNever is the error for a schedule such as February 31. Its text is that of Kubernetes.
var errNever = errors.New("time difference between two schedules is less than 1 second")

// due returns the last scheduled time after since and not after now, zero if there is none. missed is about
// the number of scheduled times in between, if there was more than one. The cost does not depend on missed
// for schedules with equal intervals.
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
	// Start two intervals early, so that the search does not overshoot if intervals differ.
	from := first.Add(time.Duration((missed-2)*interval) * time.Second)
	for t := schedule.Next(from); !t.After(now); t = schedule.Next(t) {
		last = t
	}
	return last, missed, nil
}

// justAfter delays reconciles past the scheduled time, to allow for clock differences.
const justAfter = 100 * time.Millisecond

// untilNext returns the time until the next run.
func untilNext(c *batchv1.CronJob, schedule cron.Schedule, now time.Time) time.Duration {
	since := lastScheduled(c)
	last, missed, err := due(schedule, since, now)
	switch {
	case err != nil || last.IsZero() && missed > 0:
		last = now
	case last.IsZero():
		last = since
	}
	return schedule.Next(last).Add(justAfter).Sub(now)
}

// lastScheduled returns the scheduled time of the last run, or the creation time if there was none.
func lastScheduled(c *batchv1.CronJob) time.Time {
	if last := c.Status.LastScheduleTime; last != nil {
		return last.Time
	}
	return c.CreationTimestamp.Time
}

// schedules records when cronjobs changed their schedules, as far as this process has observed it. A new
// schedule applies from then on: runs that it would have had before are not made up for.
type schedules struct {
	mu        sync.Mutex
	byRequest map[controller.Request]scheduled
}

type scheduled struct {
	uid            types.UID
	schedule, zone string
	since          time.Time // zero if no change was observed
}

// since returns when a cronjob got its schedule; zero if no change was observed.
func (s *schedules) since(request controller.Request, c *batchv1.CronJob, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := scheduled{uid: c.UID, schedule: c.Spec.Schedule, zone: ptr.Deref(c.Spec.TimeZone, "")}
	previous, known := s.byRequest[request]
	switch {
	case !known || previous.uid != current.uid:
	case previous.schedule == current.schedule && previous.zone == current.zone:
		current.since = previous.since
	default:
		current.since = now
	}
	if s.byRequest == nil {
		s.byRequest = map[controller.Request]scheduled{}
	}
	s.byRequest[request] = current
	return current.since
}

// remove removes a deleted cronjob.
func (s *schedules) remove(request controller.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byRequest, request)
}
