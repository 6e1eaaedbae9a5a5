package object

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// Revision is a point in the store's history: the number of the commit that made a state. Clients see it as
// the opaque metadata.resourceVersion. Zero is before every commit.
type Revision uint64

// String returns the revision as a resourceVersion.
func (r Revision) String() string { return strconv.FormatUint(uint64(r), 10) }

// ParseRevision parses a resourceVersion.
func ParseRevision(s string) (Revision, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion %q is not a number that this server gave out", s)
	}
	return Revision(n), nil
}

// sixteenDigits is the smallest number with as many digits as RevisionPlaceholder.
const sixteenDigits = 1_000_000_000_000_000

// FirstRevision returns the revision at which a new plane begins: the clock in microseconds. No store commits
// a million times a second for long, so a plane without stored state begins above all revisions that earlier
// planes served. Clients that resume from one of those receive 410 Gone instead of a wrong answer. The result
// has 16 digits from the year 2001 on; earlier times, as in a testing/synctest bubble, are raised to 16
// digits.
func FirstRevision(now time.Time) Revision {
	first := now.UnixMicro()
	if first < sixteenDigits {
		first += sixteenDigits
	}
	return Revision(first)
}

// epoch is the minimum distance between the revisions of a plane and those of a plane that continues from its
// state. No fork or backup sees that many commits in its life. Planes that continue from the same state are
// separated by a random part of spread.
const (
	epoch  = 1 << 32
	spread = 1 << 36
)

// NextEpoch returns the first revision of a plane that continues from a state at revision: a restore or a
// fork. No plane with that state has reached it, whether its revisions followed the clock or ran ahead of it,
// so clients that resume with a revision of the old plane receive 410 Gone instead of another plane's state.
// Nor will another plane that continues from the same state at the same time or earlier, except with a
// probability of the commits of either in 2^36.
func NextEpoch(revision Revision, now time.Time) Revision {
	return max(revision, Revision(max(now.UnixMicro(), 0))) + epoch + rand.N[Revision](spread)
}
