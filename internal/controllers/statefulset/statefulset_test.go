package statefulset_test

import (
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/garbagecollector"
	"github.com/bowline-dev/bowline/internal/controllers/pvcprotection"
	"github.com/bowline-dev/bowline/internal/controllers/statefulset"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", trial.Alone(), bowlinetest.Manage(manage))
}

// manage adds the StatefulSet controller, and the controllers that delete dependents and unused claims.
func manage(m *controller.Manager) error {
	statefulset.Add(m)
	garbagecollector.Add(m)
	pvcprotection.Add(m)
	return nil
}
