package cronjob_test

import (
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/cronjob"
	"github.com/bowline-dev/bowline/internal/controllers/garbagecollector"
	"github.com/bowline-dev/bowline/internal/controllers/job"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", trial.Alone(), bowlinetest.Manage(manage))
}

// manage adds the controller under test, and those that run its jobs and delete the pods of deleted jobs.
func manage(m *controller.Manager) error {
	cronjob.Add(m)
	job.Add(m)
	garbagecollector.Add(m)
	return nil
}
