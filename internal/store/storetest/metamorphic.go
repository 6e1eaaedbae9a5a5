package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/store"
)

// Subject is a log to compare with others.
type Subject struct {
	Name string
	// Medium returns a new medium for each script.
	Medium func(t *testing.T) Reopen
	// Durable reports whether a store on the log may be closed and opened again.
	Durable bool
}

// Metamorphic runs the same random script of the given length on stores of several logs and compares every
// result. A script with different results is shortened as far as possible and printed with its seed.
func Metamorphic(t *testing.T, seed uint64, length int, subjects ...Subject) {
	t.Helper()
	ops := script(rand.New(rand.NewPCG(seed, 4)), length)
	difference := differ(t, ops, subjects)
	if difference == "" {
		t.Logf("seed %d: %s, with equal results on %d logs", seed, tally(ops), len(subjects))
		return
	}
	shortest := shorten(ops, func(ops []operation) bool { return differ(t, ops, subjects) != "" })
	var lines []string
	for _, o := range shortest {
		lines = append(lines, o.String())
	}
	t.Errorf("seed %d: %s\nthe shortest script that shows it, %s:\n%s", seed, difference, differ(t, shortest, subjects),
		strings.Join(lines, "\n"))
}

// tally returns the number of operations of each kind.
func tally(ops []operation) string {
	counts := map[string]int{}
	for _, o := range ops {
		counts[o.kind]++
	}
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(counts), "map["), "]")
}

// differ runs a script on each subject and describes the first result that differs from the first subject's;
// "" if there is none.
func differ(t *testing.T, ops []operation, subjects []Subject) string {
	var want []string
	for i, subject := range subjects {
		got := answers(t, subject, ops)
		if i == 0 {
			want = got
		}
		for n := range want {
			if got[n] != want[n] {
				return fmt.Sprintf("operation %d, %v:\n%s returns %s\n%s returns %s", n, ops[n], subjects[0].Name,
					want[n], subject.Name, got[n])
			}
		}
	}
	return ""
}

// shorten removes what it can from a script, first halves, then quarters and so on, as long as the script
// still fails.
func shorten(ops []operation, fails func([]operation) bool) []operation {
	for size := len(ops) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(ops); {
			shorter := append(append([]operation(nil), ops[:from]...), ops[from+size:]...)
			if fails(shorter) {
				ops = shorter
			} else {
				from += size
			}
		}
	}
	return ops
}

// answers runs a script on one subject and returns the results.
func answers(t *testing.T, subject Subject, ops []operation) []string {
	p := &performer{t: t, open: subject.Medium(t), durable: subject.Durable}
	defer p.close()
	first, err := store.New(t.Context(), p.open(), bounded)
	if err != nil {
		t.Fatalf("%s: %v", subject.Name, err)
	}
	p.stores = []*openStore{{store: first, base: first.Current()}}
	lines := make([]string, len(ops))
	for i, o := range ops {
		lines[i] = p.perform(o)
		for _, l := range p.stores {
			checkUsage(t, l.store)
		}
	}
	return lines
}

// bounded configures a history shorter than a script, and a quota that some of its commits would exceed.
var bounded = store.Options{HistoryBytes: 60_000, Quota: store.Quota{Bytes: 6_000, NamespaceBytes: 3_000}}
