package controller

import (
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
)

// Limits on events, as in client-go's recorder. Events of one object and reason that differ in their message
// are combined after similarEvents messages, each within similarInterval of the previous one. Each object may
// record a burst of eventBurst events, and then one per eventInterval.
const (
	similarEvents   = 10
	similarInterval = 10 * time.Minute
	combined        = "(combined from similar events): "
	eventBurst      = 25
	eventInterval   = 5 * time.Minute
	maxTracked      = 4096
)

// similar tracks recent events to combine or drop repetitive ones. The recorder's lock guards it.
type similar struct {
	messages map[eventKey]*messages // by key without message
	limits   map[limitKey]*rate.Limiter
}

// messages holds the distinct messages of events that are otherwise equal, up to similarEvents.
type messages struct {
	known map[string]bool
	last  time.Time
}

// limitKey is the key of a rate limit.
type limitKey struct {
	object corev1.ObjectReference
	kind   string
}

// combine returns the key and the message under which to record an event: its own, or a key without a message if
// there were many events that differ only in their message.
func (s *similar) combine(key eventKey, now time.Time) (eventKey, string) {
	shared, message := key, key.message
	shared.message = ""
	m := s.messages[shared]
	if m == nil || now.Sub(m.last) > similarInterval {
		if len(s.messages) >= maxTracked {
			clear(s.messages) // restarting is cheaper than tracking the oldest
		}
		m = &messages{known: map[string]bool{}}
		s.messages[shared] = m
	}
	m.last = now
	if !m.known[message] && len(m.known) < similarEvents {
		m.known[message] = true
	}
	if len(m.known) < similarEvents {
		return key, message
	}
	return shared, combined + message
}

// admits reports whether the rate limit of the event's object permits another event.
func (s *similar) admits(event eventKey, now time.Time) bool {
	key := limitKey{event.object, event.kind}
	bucket := s.limits[key]
	if bucket == nil {
		if len(s.limits) >= maxTracked {
			clear(s.limits)
		}
		bucket = rate.NewLimiter(rate.Every(eventInterval), eventBurst)
		s.limits[key] = bucket
	}
	return bucket.AllowN(now, 1)
}
