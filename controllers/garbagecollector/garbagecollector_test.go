package garbagecollector_test

import (
	"testing"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/garbagecollector"
	"github.com/bowline-dev/bowline/controllers/namespace"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	alone := bowlinetest.With(func(o *bowline.Options) { o.Controllers = []string{namespace.Name} }) // else a plane has a collector
	transcript.Test(t, "testdata/*.txt", alone, bowlinetest.Manage(func(m *controller.Manager) error {
		garbagecollector.Add(m)
		return nil
	}))
}
