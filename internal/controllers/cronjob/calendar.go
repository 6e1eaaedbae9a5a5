package cronjob

import (
	"time"

	"github.com/robfig/cron/v3"
)

// calendar is a schedule of dates and times of day in a time zone. The library's search for its next time does not end
// if the zone skips a day, as Pacific/Apia did on December 30, 2011, and loses a day that begins at one o'clock, as in
// Africa/Cairo. calendar therefore searches each period between two changes of the zone's offset on its own. Within a
// period the days are equally long, and the library's search is exact and ends. A time of day that a change skips is
// skipped, and one that it repeats occurs twice.
type calendar struct{ spec *cron.SpecSchedule }

// searchYears is how far ahead the library searches: to the end of the fifth year.
const searchYears = 6

// Next implements cron.Schedule: it returns the first scheduled time after t, zero if there is none in the next years.
func (c calendar) Next(t time.Time) time.Time {
	location := c.spec.Location
	if location == time.Local { // the schedule names no zone
		location = t.Location()
	}
	limit := t.AddDate(searchYears, 0, 0)
	for after, period := t, t; ; {
		_, end := period.In(location).ZoneBounds()
		if !end.IsZero() && !end.After(period) { // package time's answer on December 31 of leap years after 2037
			end = period.AddDate(0, 0, 1)
		}
		next := c.inOffset(period.In(location)).Next(after)
		switch {
		case !next.IsZero() && (end.IsZero() || next.Before(end)):
			return next.In(t.Location())
		case end.IsZero() || !end.Before(limit):
			return time.Time{}
		}
		after, period = end.Add(-time.Nanosecond), end // end itself is in the next period
	}
}

// inOffset returns the schedule in a zone that always has the offset of a time. The offset is rounded to minutes: the
// library's search takes millions of steps with the local mean times before about 1900, which have seconds.
func (c calendar) inOffset(t time.Time) cron.Schedule {
	_, seconds := t.Zone()
	offset := (time.Duration(seconds) * time.Second).Round(time.Minute)
	spec := *c.spec
	spec.Location = time.FixedZone("", int(offset/time.Second))
	return &spec
}
