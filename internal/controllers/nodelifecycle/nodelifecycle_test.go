package nodelifecycle_test

import (
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/nodelifecycle"
	"github.com/bowline-dev/bowline/node/simulated"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", bowlinetest.Manage(func(m *controller.Manager) error {
		nodelifecycle.Add(m)
		simulated.Add(m, simulated.Options{Nodes: 1})
		return nil
	}))
}
