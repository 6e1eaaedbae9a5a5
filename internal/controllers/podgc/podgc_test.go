package podgc_test

import (
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/podgc"
	"github.com/bowline-dev/bowline/internal/trial"
)

// At most two ended pods are retained, which keeps the transcript short.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		podgc.AddWithLimit(m, 2)
		return nil
	}))
}
