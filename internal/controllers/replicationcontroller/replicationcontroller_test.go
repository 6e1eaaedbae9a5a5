package replicationcontroller_test

import (
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/garbagecollector"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
	"github.com/bowline-dev/bowline/internal/controllers/replicationcontroller"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", trial.Alone(), bowlinetest.Manage(manage))
}

// manage adds the controller under test, the ReplicaSet controller, whose pods it must not adopt, and the
// garbage collector.
func manage(m *controller.Manager) error {
	replicationcontroller.Add(m)
	replicaset.Add(m)
	garbagecollector.Add(m)
	return nil
}
