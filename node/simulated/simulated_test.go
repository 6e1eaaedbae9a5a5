package simulated_test

import (
	"testing"
	"time"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/node/simulated"
)

// The beat is slow, so that a transcript shows a node only when something becomes of it.
func nodes(count int, beat time.Duration) bowlinetest.Option {
	return bowlinetest.Manage(func(m *controller.Manager) error {
		simulated.Add(m, simulated.Options{Nodes: count, Beat: beat})
		return nil
	})
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", nodes(2, 24*time.Hour))
}
