package object

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// Revision is a point in the store's history: the number of the commit that made a state. It is opaque to clients, who
// see it as metadata.resourceVersion. Zero is before every commit.
type Revision uint64

// String is the revision as resourceVersion carries it.
func (r Revision) String() string { return strconv.FormatUint(uint64(r), 10) }

// ParseRevision reads a resourceVersion.
func ParseRevision(s string) (Revision, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion %q is not a number that this server gave out", s)
	}
	return Revision(n), nil
}

// sixteenDigits is the smallest number that is as wide as RevisionPlaceholder.
const sixteenDigits = 1_000_000_000_000_000

// FirstRevision is where the revisions of a new plane begin: at the clock in microseconds. No store commits a million times a
// second for long, so that a plane without a memory of the ones before it begins above everything that they served, and whoever
// resumes from then is told that their revision is gone instead of being answered wrongly. It has 16 digits from the year 2001
// on, and before it, as in a bubble of testing/synctest, it is lifted to as many.
func FirstRevision(now time.Time) Revision {
	first := now.UnixMicro()
	if first < sixteenDigits {
		first += sixteenDigits
	}
	return Revision(first)
}

// epoch is how far apart the revisions of a plane and of another that goes on with its state are at least: more than one commits
// in the life of a fork or a backup. Siblings, which begin with one state, are apart by a random part of spread.
const (
	epoch  = 1 << 32
	spread = 1 << 36
)

// NextEpoch is a revision at which a plane begins that goes on with a state of a revision, at a time: a restore, a fork. No
// plane that had the state before has reached it, whether its revisions followed the clock or ran ahead, so that whoever
// comes with one of theirs is told that it is gone, and not answered with another state. Nor will another one that begins with
// the same state, at the same time or before, but by a chance of the commits of either in 2^36.
func NextEpoch(revision Revision, now time.Time) Revision {
	return max(revision, Revision(max(now.UnixMicro(), 0))) + epoch + rand.N[Revision](spread)
}
