package batch

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateSchedule validates a schedule in cron format. A time zone in it, which Kubernetes once accepted, is
// rejected unless the replaced schedule (was) has one too.
func validateSchedule(schedule, was string, zone *string, path *field.Path) (errs field.ErrorList) {
	if schedule == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if err := parse(schedule); err != nil {
		errs = append(errs, field.Invalid(path, schedule, err.Error()))
	}
	lenient := strings.Contains(was, "TZ")
	switch {
	case !strings.Contains(schedule, "TZ"):
	case !lenient:
		errs = append(errs, field.Invalid(path, schedule,
			"cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	case zone != nil:
		errs = append(errs, field.Invalid(path, schedule,
			"cannot use both timeZone field and TZ or CRON_TZ in schedule"))
	}
	return errs
}

// parse returns an error for an invalid schedule. The library panics for some of them (TZ=0).
func parse(schedule string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("invalid schedule format: %v", p)
		}
	}()
	_, err = cron.ParseStandard(schedule)
	return err
}

// zonePart matches a component of a time zone's name, by the rules of the tz database and with the characters
// of old names.
var zonePart = regexp.MustCompile(`^[A-Za-z.\-_0-9+]{1,14}$`)

// validateZone validates the name of a time zone: the server must know it, and it must not be the local time
// zone of the host. Validating the components first ensures that no name refers to another file.
func validateZone(zone *string, path *field.Path) (errs field.ErrorList) {
	if zone == nil {
		return nil
	}
	if *zone == "" {
		return field.ErrorList{field.Invalid(path, *zone, "timeZone must be nil or non-empty string")}
	}
	for part := range strings.SplitSeq(*zone, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !zonePart.MatchString(part) {
			return field.ErrorList{field.Invalid(path, *zone, "unknown time zone "+*zone)}
		}
	}
	if strings.EqualFold(*zone, "Local") {
		errs = append(errs, field.Invalid(path, *zone,
			"timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	}
	if _, err := time.LoadLocation(*zone); err != nil {
		errs = append(errs, field.Invalid(path, *zone, err.Error()))
	}
	return errs
}
