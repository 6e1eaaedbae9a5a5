package controller_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
)

// The controller restores a status that another client overwrote, also after a restart.
func TestForeignStatusWriteIsReverted(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.define()
		first := w.run(nil, nil)
		w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		for _, edit := range []string{
			`{"conditions":[{"type":"Ready","status":"False","reason":"X","message":"by hand","lastTransitionTime":"2020-01-01T00:00:00Z"}]}`,
			`{"conditions":[]}`,
			`{"provider":"bridge"}`,
			`{"id":null}`,
			`null`,
		} {
			before := w.get(v1.SchemeGroupVersion, "a").Status
			w.patchStatus("a", edit)
			time.Sleep(time.Minute)
			got := w.get(v1.SchemeGroupVersion, "a")
			if w.expectReady(got, metav1.ConditionTrue, v1.ReasonProvisioned); got.Status.ID != before.ID ||
				got.Status.Provider != before.Provider {
				w.Errorf("%s: got status %+v", edit, got.Status)
			}
			first.stop()
			first = w.run(nil, nil)
			waitIdle()
		}
		first.stop()
	})
}

// Conditions that other clients add remain, and cause no read of the real network.
func TestForeignConditionsArePreserved(t *testing.T) {
	withFixture(t, func(w *fixture) {
		g := &fakeNeutron{}
		w.define()
		defer w.runNeutron(g).stop()
		w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		n := w.get(v1.SchemeGroupVersion, "a")
		audited := metav1.Condition{
			Type: "Audited", Status: metav1.ConditionTrue, Reason: "Done",
			LastTransitionTime: n.Status.Conditions[0].LastTransitionTime,
		}
		n.Status.Conditions = append(n.Status.Conditions, audited)
		g.setAnswers(nil)
		if _, err := w.networks(v1.SchemeGroupVersion).UpdateStatus(w.Context(), n,
			metav1.UpdateOptions{}); err != nil {
			w.Fatal(err)
		}
		time.Sleep(20 * time.Second) // less than the poll interval
		if requests := g.setAnswers(nil); requests != 0 {
			w.Errorf("Neutron got %d requests", requests)
		}
		w.patchStatus("a", `{"provider":"bridge"}`)
		time.Sleep(time.Minute)
		if now := w.get(v1.SchemeGroupVersion, "a").Status; now.Provider != "neutron" || len(now.Conditions) != 2 {
			w.Errorf("got status %+v", now)
		}
	})
}

// Two controllers that claim the same status write to it slowly.
func TestConflictingControllersAreRateLimited(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.define()
		defer w.run(nil, nil).stop()
		defer w.runNeutron(&fakeNeutron{}).stop()
		w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		watch, err := w.networks(v1.SchemeGroupVersion).Watch(w.Context(), "default", metav1.ListOptions{})
		if err != nil {
			w.Fatal(err)
		}
		writes := 0
		time.AfterFunc(10*time.Minute, watch.Stop)
		for {
			if _, _, err := watch.Next(); err != nil {
				break
			}
			writes++
		}
		if most := 10 * 60 / 10 * 2; writes > most || writes == 0 {
			w.Errorf("the status was written %d times in ten minutes", writes)
		}
	})
}

func (w *fixture) patchStatus(name, status string) {
	w.Helper()
	patch := []byte(`{"status":` + status + `}`)
	networks := w.networks(v1.SchemeGroupVersion)
	if _, err := networks.Patch(w.Context(), "default", name, "status", types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
}
