package disruption_test

import (
	"testing"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/disruption"
	"github.com/bowline-dev/bowline/controllers/replicaset"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		disruption.Add(m)
		replicaset.Add(m)
		return nil
	}))
}

// alone has a plane run no controllers but those of the test.
func alone() bowlinetest.Option {
	return bowlinetest.With(func(o *bowline.Options) { o.Controllers = []string{} })
}
