package fault

// Kind is what goes wrong.
type Kind string

// The kinds of faults. Those of writes:
const (
	// CrashBefore ends the process before a write: it has no effect.
	CrashBefore Kind = "crash before"
	// CrashAfter ends the process when a write is done and its answer not read yet.
	CrashAfter Kind = "crash after"
	// Refused answers a write with 500, without effect.
	Refused Kind = "refused"
	// Throttled answers a write with 429 and asks for a second's patience, without effect.
	Throttled Kind = "throttled"
	// Lost breaks the connection when a write is done: the process does not know.
	Lost Kind = "answer lost"
	// Conflict changes the object, as somebody else would, right before an update.
	Conflict Kind = "conflict"
	// Behind keeps what the process watches of the resource from it for a while, from a write on: its cache is old.
	Behind Kind = "cache behind after"
)

// Stale is the fault of reads: one that takes any version is answered with an older one, and what follows is held back for
// a while; any other is answered with what there was when it was asked, and late.
const Stale Kind = "stale"

// The kinds of events' faults.
const (
	// Delayed brings an event, and all that follow it in its watch, late.
	Delayed Kind = "delayed"
	// Doubled brings an event twice.
	Doubled Kind = "doubled"
	// Dropped keeps an event and all that follow it back, and ends the watch with 410 Gone after a while.
	Dropped Kind = "dropped"
)

// Kinds are all of them.
func Kinds() []Kind {
	return []Kind{CrashBefore, CrashAfter, Refused, Throttled, Lost, Conflict, Behind, Stale, Delayed, Doubled, Dropped}
}
