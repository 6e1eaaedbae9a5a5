package storetest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/store/log"
)

// forgetful is a log that loses its last commit when it is reopened.
func forgetful(*testing.T) Reopen {
	j := NewJournal()
	return func() log.Log {
		j.commits = j.commits[:max(0, len(j.commits)-1)]
		return j.Open()
	}
}

func TestMetamorphicFindsAndShrinksDifference(t *testing.T) {
	t.Parallel()
	subjects := []Subject{
		{Name: "journal", Medium: func(*testing.T) Reopen { return NewJournal().Open }, Durable: true},
		{Name: "forgetful", Medium: forgetful, Durable: true},
	}
	ops := script(rand.New(rand.NewPCG(1, 4)), 500)
	if differ(t, ops, subjects) == "" {
		t.Fatal("no answer differs")
	}
	shortest := shorten(ops, func(ops []operation) bool { return differ(t, ops, subjects) != "" })
	var lines []string
	for _, o := range shortest {
		lines = append(lines, o.String())
	}
	if len(shortest) != 2 || shortest[0].kind != "commit" || shortest[1].kind != "restart" {
		t.Errorf("the shortest script is\n%s", strings.Join(lines, "\n"))
	}
}
