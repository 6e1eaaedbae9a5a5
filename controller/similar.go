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
	keptSimilar     = 4096
)

// similar tracks recent events to combine or drop repetitive ones. The recorder's lock guards it.
type similar struct {
	messages map[happening]*messages // by happening without its message
	spam     map[spammer]*rate.Limiter
}

// messages holds the distinct messages of events that are otherwise equal, up to similarEvents.
type messages struct {
	known map[string]bool
	last  time.Time
}

// spammer is the key of a rate limit.
type spammer struct {
	object corev1.ObjectReference
	kind   string
}

// combine returns the key and the message to record an event under: its own, or a key without a message if
// there were many events that differ only in their message.
func (s *similar) combine(h happening, now time.Time) (happening, string) {
	alike, message := h, h.message
	alike.message = ""
	m := s.messages[alike]
	if m == nil || now.Sub(m.last) > similarInterval {
		if len(s.messages) >= keptSimilar {
			clear(s.messages) // restarting is cheaper than tracking the oldest
		}
		m = &messages{known: map[string]bool{}}
		s.messages[alike] = m
	}
	m.last = now
	if !m.known[message] && len(m.known) < similarEvents {
		m.known[message] = true
	}
	if len(m.known) < similarEvents {
		return h, message
	}
	return alike, combined + message
}

// admits reports whether the rate limit of the event's object permits another event.
func (s *similar) admits(h happening, now time.Time) bool {
	key := spammer{h.object, h.kind}
	bucket := s.spam[key]
	if bucket == nil {
		if len(s.spam) >= keptSimilar {
			clear(s.spam)
		}
		bucket = rate.NewLimiter(rate.Every(eventInterval), eventBurst)
		s.spam[key] = bucket
	}
	return bucket.AllowN(now, 1)
}
