package garbagecollector_test

import (
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/garbagecollector"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", bowlinetest.Manage(func(m *controller.Manager) error {
		garbagecollector.Add(m)
		return nil
	}))
}
