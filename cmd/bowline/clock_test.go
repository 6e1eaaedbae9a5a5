package main

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/internal/auth/pki"
)

// TestStartAfterClockWasSetBack checks that clients can connect although the folder's certificates were
// created while the clock was an hour ahead. Package disk tests that revisions still increase.
func TestStartAfterClockWasSetBack(t *testing.T) {
	t.Parallel()
	folder, now := t.TempDir(), time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(time.Hour)))
		if _, err := pki.Open(state.Folder(folder).Certificates(), pki.Hosts("127.0.0.1")); err != nil {
			t.Fatal(err)
		}
	})
	config, err := startCrashServer(t, folder).ready()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := configMaps(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}
