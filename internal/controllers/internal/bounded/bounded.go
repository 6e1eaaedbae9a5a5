// Package bounded computes durations and counts from the numbers and times of objects without overflow. Clients choose
// these freely within their types. The built-in controllers use it.
package bounded

import (
	"math"
	"time"
)

// maxSeconds is the largest number of seconds that a time.Duration can hold: 292 years.
const maxSeconds = math.MaxInt64 / int64(time.Second)

// Seconds returns a number of seconds as a duration: 0 if it is negative, and 292 years if it is more.
func Seconds(n int64) time.Duration { return time.Duration(min(max(n, 0), maxSeconds)) * time.Second }

// Remaining returns how much is left at now of a wait that began at start: nothing once it is over, and the whole wait
// if start lies in the future.
func Remaining(wait time.Duration, start, now time.Time) time.Duration {
	return min(max(start.Add(wait).Sub(now), 0), wait)
}

// Count returns n in the range of the counts of the API, which are int32 and not negative.
func Count(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }
