package controller

import (
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
)

// How events are held back, as client-go's recorder does: so many events of one object and reason that differ in their message,
// each within so long of the one before, become one event. Of one object, so many events are written at once, and then one
// each five minutes.
const (
	similarEvents   = 10
	similarInterval = 10 * time.Minute
	combined        = "(combined from similar events): "
	eventBurst      = 25
	eventInterval   = 5 * time.Minute
	keptSimilar     = 4096
)

// similar remembers what events there were, to hold back those that say no more. It is under the recorder's lock.
type similar struct {
	messages map[happening]*messages // by happenings without a message
	spam     map[spammer]*rate.Limiter
}

// messages are the different messages of events that are alike else: as many as it takes to combine them.
type messages struct {
	known map[string]bool
	last  time.Time
}

// spammer is what shares a bucket of events.
type spammer struct {
	object corev1.ObjectReference
	kind   string
}

// combine is what makes an event one with others, and its message: the event's own, or a happening without a message when there
// were many that differ in nothing else.
func (s *similar) combine(h happening, now time.Time) (happening, string) {
	alike, message := h, h.message
	alike.message = ""
	m := s.messages[alike]
	if m == nil || now.Sub(m.last) > similarInterval {
		if len(s.messages) >= keptSimilar {
			clear(s.messages) // counting anew is cheaper than remembering who is oldest
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

// admits says whether another event of an object may be written.
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
