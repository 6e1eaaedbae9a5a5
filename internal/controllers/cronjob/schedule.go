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
	schedule, err = cron.ParseStandard(text)
	if spec, ok := schedule.(*cron.SpecSchedule); ok {
		return calendar{spec}, err
	}
	return schedule, err
}

// hasZone reports whether a schedule contains a time zone, as old ones may.
func hasZone(schedule string) bool { return strings.Contains(schedule, "TZ") }

// manyMissed is the number of missed runs above which a warning is recorded.
const manyMissed = 100

// errNever is the error for a schedule such as February 31. Its text is that of Kubernetes.
var errNever = errors.New("time difference between two schedules is less than 1 second")

// due returns the last scheduled time after since and not after now, zero if there is none. missed is about the number
// of scheduled times in between, if there was more than one. As in Kubernetes, the interval between the first two
// estimates it, and a time that lies more than one such interval before the estimated last one is not found.
//
// Whatever the times are, the number of steps is bounded: since may come from a status that a client has written. A
// time.Duration cannot hold the difference between two times of a status, so due counts in seconds.
func due(schedule cron.Schedule, since, now time.Time) (last time.Time, missed int64, err error) {
	first := schedule.Next(since)
	if first.IsZero() {
		return time.Time{}, 0, errNever
	}
	second := schedule.Next(first)
	switch {
	case now.Before(first):
		return time.Time{}, 0, nil
	case second.IsZero() || now.Before(second):
		return first, 0, nil
	}
	interval := second.Unix() - first.Unix()
	if interval < 1 {
		return time.Time{}, 0, errNever
	}
	missed = (now.Unix()-first.Unix())/interval + 1
	after := func(intervals int64) time.Time {
		return time.Unix(first.Unix()+intervals*interval, 0).In(first.Location())
	}
	if _, equal := schedule.(cron.ConstantDelaySchedule); equal {
		return after(missed - 1), missed, nil
	}
	// Start two intervals early, so that the search does not overshoot if intervals differ.
	return lastUntil(schedule, after(missed-2), now), missed, nil
}

// lastUntil returns the last scheduled time after from and not after now, zero if there is none. It halves the range
// with each step. The times of the schedule must not depend on where a search for them starts.
func lastUntil(schedule cron.Schedule, from, now time.Time) time.Time {
	last := schedule.Next(from)
	if last.IsZero() || last.After(now) {
		return time.Time{}
	}
	for none := now.Unix(); none-last.Unix() > 1; { // no scheduled time is after none
		middle := last.Unix() + (none-last.Unix())/2
		if next := schedule.Next(time.Unix(middle, 0).In(now.Location())); next.IsZero() || next.After(now) {
			none = middle
		} else {
			last = next
		}
	}
	return last
}

const (
	// justAfter delays reconciles past the scheduled time, to allow for clock differences.
	justAfter = 100 * time.Millisecond
	// checkAgain is how long to wait if a schedule has no time in the years that are searched. February 29 is the only
	// date that is so rare.
	checkAgain = 24 * time.Hour
)

// untilNext returns the time until the next run, at least justAfter.
func untilNext(c *batchv1.CronJob, schedule cron.Schedule, now time.Time) time.Duration {
	since := lastScheduled(c)
	last, missed, err := due(schedule, since, now)
	switch {
	case err != nil || last.IsZero() && missed > 0:
		last = now
	case last.IsZero():
		last = since
	}
	next := schedule.Next(last)
	if next.IsZero() {
		return checkAgain
	}
	return max(next.Add(justAfter).Sub(now), justAfter)
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
