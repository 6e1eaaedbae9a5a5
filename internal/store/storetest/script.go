package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/bowline-dev/bowline/internal/object"
)

// operation is one line of a script. It refers to stores and watches by number, modulo their count, and to
// revisions by their distance from the current one, so that it is valid after any other operations and a
// failing script can be shortened.
type operation struct {
	kind string
	// store and watch are numbers; back is a number of revisions; limit is a number of events or objects.
	store, watch, back, limit int
	// prefix is the prefix to list or watch, and colour the required label; empty for any.
	prefix object.Key
	colour string
	drafts []draft
}

// draft is a change of a commit.
type draft struct {
	key    object.Key
	value  string // empty for a deletion
	expect string // anything, absent, current (the key's revision then) or back (that of another state)
	back   int
}

func (o operation) String() string {
	line := fmt.Sprintf("%s store %d", o.kind, o.store)
	switch o.kind {
	case "commit":
		for _, d := range o.drafts {
			line += fmt.Sprintf(" [%s=%.12q %s %d]", d.key, d.value, d.expect, d.back)
		}
	case "take", "stop":
		line += fmt.Sprintf(" watch %d limit %d", o.watch, o.limit)
	default:
		line += fmt.Sprintf(" %s %s back %d limit %d", o.prefix, o.colour, o.back, o.limit)
	}
	return line
}

// kinds lists the kinds of operations, repeated by their frequency.
var kinds = strings.Fields(`commit commit commit commit commit commit commit commit commit commit get get latest exactly exactly
	atleast pages watch watch take take take take take stop oldest`)

// rare lists operations that occur once in the given number.
var rare = []struct {
	kind string
	in   int
}{{"restart", 60}, {"fork", 150}, {"close", 300}}

// script returns a random sequence of operations.
func script(random *rand.Rand, length int) []operation {
	ops := make([]operation, 0, length)
	for len(ops) < length {
		o := operation{
			kind: kinds[random.IntN(len(kinds))], store: random.IntN(2) * random.IntN(2*maxStores),
			watch: random.IntN(12), limit: 1 + random.IntN(8),
			back: random.IntN(random.IntN(200)+1) - 1, prefix: randomPrefix(random),
		}
		for _, r := range rare {
			if random.IntN(r.in) == 0 {
				o.kind = r.kind
			}
		}
		if random.IntN(3) == 0 {
			o.colour = []string{"red", "blue"}[random.IntN(2)]
		}
		if o.kind == "commit" {
			o.drafts = drafts(random)
		}
		ops = append(ops, o)
	}
	return ops
}

func randomPrefix(random *rand.Rand) object.Key {
	key := randomKey(random)
	return []object.Key{key, object.Prefix(key.GroupResource(), key.Namespace()),
		object.Prefix(key.GroupResource(), "")}[random.IntN(3)]
}

func drafts(random *rand.Rand) (all []draft) {
	for range 1 + random.IntN(3) {
		d := draft{
			key: randomKey(random), back: random.IntN(5),
			expect: []string{"anything", "anything", "absent", "current", "current", "back"}[random.IntN(6)],
		}
		if random.IntN(3) > 0 {
			d.value = []string{"red", "blue"}[random.IntN(2)] + "-" + strings.Repeat("x", random.IntN(200))
		}
		all = append(all, d)
	}
	return all
}
