package controller

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider"
)

// asStored returns an object with a status as it is read back from a server.
func asStored(t *testing.T, n *v1.Network, s v1.NetworkStatus) *v1.Network {
	t.Helper()
	n = n.DeepCopy()
	n.Status = s
	data, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	back := &v1.Network{}
	if err := json.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	return back
}

// aliased is a provider whose networks have an alias.
type aliased struct{ provider.Provider }

func (aliased) ID(types.UID) string    { return "id" }
func (aliased) Alias(types.UID) string { return "alias" }

func TestStatusIsWrittenOnlyWhenItChanges(t *testing.T) {
	t.Parallel()
	n := network("10.0.0.0/8", "10.0.0.1")
	want, err := wanted(n)
	if err != nil {
		t.Fatal(err)
	}
	v := (&reconciler{provider: aliased{}}).provisioned(want)
	for _, generation := range []int64{3, 0} {
		first := v.status(n, "record", generation)
		if patch, err := statusPatch(n, first); err != nil || patch == nil {
			t.Errorf("the first status: %s, %v; want a patch", patch, err)
		}
		stored := asStored(t, n, first)
		if patch, err := statusPatch(stored, v.status(stored, "record", generation)); err != nil || patch != nil {
			t.Errorf("the same status again: %s, %v; want no patch", patch, err)
		}
		if !v.recordedIn(stored) {
			t.Error("recordedIn is false for the status of the same verdict")
		}
	}
}

func TestStatusPreservesTransitionTimeAndOtherConditions(t *testing.T) {
	t.Parallel()
	n := network("10.0.0.0/8", "10.0.0.1")
	other := metav1.Condition{Type: "Audited", Status: metav1.ConditionTrue, Reason: "Done"}
	long := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Provisioned",
		LastTransitionTime: long}
	n.Status.Conditions = []metav1.Condition{other, ready}
	got := verdict{ready: true, reason: "Provisioned", message: "new", id: "id"}.status(n, "record", 3)
	ready.Message, ready.ObservedGeneration = "new", 3
	want := v1.NetworkStatus{
		Provider: "record", ID: "id", ObservedGeneration: 3, Conditions: []metav1.Condition{other, ready},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A merge patch does not touch fields that it does not name, so removed fields are set to null.
func TestStatusPatchRemovesEmptyFields(t *testing.T) {
	t.Parallel()
	n := network("10.0.0.0/8", "")
	patch, err := statusPatch(n, verdict{reason: v1.ReasonInvalidSpec, message: "m"}.status(n, "record", 0))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string]any
	if err := json.Unmarshal(patch, &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"id", "observedGeneration"} {
		if value, named := got["status"][name]; !named || value != nil {
			t.Errorf("status.%s is %v, want null", name, value)
		}
	}
	if got["metadata"]["uid"] != "uid" {
		t.Errorf("the patch is for uid %v", got["metadata"]["uid"])
	}
}
