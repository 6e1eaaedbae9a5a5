package endpointslice_test

import (
	"testing"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/endpointslice"
	"github.com/bowline-dev/bowline/controllers/garbagecollector"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		endpointslice.Add(m)
		garbagecollector.Add(m)
		return nil
	}))
}

// alone has a plane run no controllers but those of the test.
func alone() bowlinetest.Option {
	return bowlinetest.With(func(o *bowline.Options) { o.Controllers = []string{} })
}
