package fault

// Kind is a kind of fault.
type Kind string

// Kinds of faults at writes.
const (
	// CrashBefore ends the process before a write, which has no effect.
	CrashBefore Kind = "crash before"
	// CrashAfter ends the process after a write has taken effect, before the process reads the response.
	CrashAfter Kind = "crash after"
	// Refused answers a write with status 500, without effect.
	Refused Kind = "refused"
	// Throttled answers a write with status 429 and a Retry-After of one second, without effect.
	Throttled Kind = "throttled"
	// Lost breaks the connection after a write has taken effect, so the process does not learn the result.
	Lost Kind = "answer lost"
	// Conflict changes the object as another client right before a write to it.
	Conflict Kind = "conflict"
	// Behind delays the process's watches of the resource from a write on, so that its cache is stale.
	Behind Kind = "cache behind after"
)

// Stale is the fault of reads. A list that accepts any version gets an older state, and later events are
// delayed. Other reads get the current state, late.
const Stale Kind = "stale"

// Kinds of faults at events.
const (
	// Delayed delays an event and all later events of its watch.
	Delayed Kind = "delayed"
	// Doubled delivers an event twice.
	Doubled Kind = "doubled"
	// Dropped withholds an event and all later events of its watch, and ends the watch with 410 Gone after a
	// while.
	Dropped Kind = "dropped"
)

// Kinds returns all kinds of faults.
func Kinds() []Kind {
	return []Kind{CrashBefore, CrashAfter, Refused, Throttled, Lost, Conflict, Behind, Stale, Delayed, Doubled, Dropped}
}
