package simulated_test

import (
	"testing"
	"time"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/node/simulated"
)

// With a slow heartbeat, a transcript shows only relevant changes of nodes.
func nodes(count int, beat time.Duration) bowlinetest.Option {
	return bowlinetest.Manage(func(m *controller.Manager) error {
		simulated.Add(m, simulated.Options{Nodes: count, HeartbeatInterval: beat})
		return nil
	})
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", nodes(2, 24*time.Hour))
}
