package podgc_test

import (
	"testing"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/podgc"
)

// Pods that have ended go when there are more than two, so that a transcript is short.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	alone := bowlinetest.With(func(o *bowline.Options) { o.Controllers = []string{} })
	transcript.Test(t, "testdata/*.txt", alone, bowlinetest.Manage(func(m *controller.Manager) error {
		podgc.AddKeeping(m, 2)
		return nil
	}))
}
