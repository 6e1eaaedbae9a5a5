package controller_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider/record"
)

func TestNetworkLifecycle(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run(nil, nil).stop()
		w.define()
		n := w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		w.expectNetworks(n.UID)
		w.expectRecord(n.UID, `"cidr": "192.168.0.0/16"`)
		got := w.get(v1.SchemeGroupVersion, "a")
		w.expectReady(got, metav1.ConditionTrue, v1.ReasonProvisioned)
		id := "bowline." + planeID + "." + string(n.UID)
		if s := got.Status; s.Provider != "record" || s.ID != id || s.ObservedGeneration != got.Generation {
			w.Errorf("got status %+v at generation %d", s, got.Generation)
		}

		changed := w.patch(v1.SchemeGroupVersion, "a", `{"spec":{"cidr":"10.0.0.0/8","gateway":"10.0.0.1"}}`)
		waitIdle()
		w.expectNetworks(n.UID)
		w.expectRecord(n.UID, `"gateway": "10.0.0.1"`)
		if got := w.get(v1.SchemeGroupVersion, "a"); got.Status.ObservedGeneration != changed.Generation {
			w.Errorf("got observedGeneration %d, want %d", got.Status.ObservedGeneration, changed.Generation)
		}

		w.delete(v1.SchemeGroupVersion, "a")
		waitIdle()
		w.expectNetworks()
		if _, err := w.networks(v1.SchemeGroupVersion).Get(w.Context(), "default", "a"); !apierrors.IsNotFound(err) {
			w.Errorf("the object still exists: %v", err)
		}
		if got := w.events(n.UID); !slices.Equal(got, []string{"Normal Created", "Normal Updated", "Normal Deleted"}) {
			w.Errorf("got events %q", got)
		}
	})
}

func TestDamagedNetworkIsRepaired(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run(nil, nil).stop()
		w.define()
		n := w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		if err := w.files.Remove(file(n.UID)); err != nil {
			w.Fatal(err)
		}
		waitIdle()
		w.expectNetworks(n.UID)
		if err := w.files.Write(file(n.UID), []byte("{")); err != nil {
			w.Fatal(err)
		}
		waitIdle()
		w.expectRecord(n.UID, "192.168.0.1")
		if got := w.events(n.UID); !slices.Contains(got, "Normal Restored") {
			w.Errorf("got events %q", got)
		}
	})
}

func TestControllerWaitsForDefinition(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run(nil, nil).stop()
		time.Sleep(time.Hour)
		w.define()
		n := w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		w.expectNetworks(n.UID)
		w.expectReady(w.get(v1.SchemeGroupVersion, "a"), metav1.ConditionTrue, v1.ReasonProvisioned)
	})
}

func TestDeletedDefinitionRemovesNetworks(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run(nil, nil).stop()
		w.define()
		n := w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		w.expectNetworks(n.UID)

		w.undefine("networks.samplecrd.k8s.io")
		waitIdle()
		w.expectNetworks()

		w.define()
		recreated := w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		w.expectNetworks(recreated.UID)
	})
}

func TestBothGroupsAreServed(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run(nil, nil).stop()
		w.define()
		w.apply("testdata", "sample-crd-v1.yaml")
		first := w.apply("example", "example-network.yaml")
		second := first.DeepCopy()
		second.SetAPIVersion(v1.SampleGroupVersion.String())
		second.SetUID("")
		second.SetResourceVersion("")
		second = w.create(second)
		waitIdle()
		w.expectNetworks(first.GetUID(), second.GetUID())
		w.delete(v1.SampleGroupVersion, second.GetName())
		waitIdle()
		w.expectNetworks(first.GetUID())
	})
}

// The older definitions have no schema, so any object is stored, and no status subresource, so each status
// write raises the generation.
func TestOldDefinitionsWithoutSchemaAndStatus(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run(nil, nil).stop()
		w.apply("testdata", "samplecrd-crd.yaml")
		w.apply("testdata", "sample-crd.yaml")
		good := w.apply("testdata", "samplecrd-network.yaml")
		bad := w.apply("testdata", "sample-network.yaml")
		waitIdle()
		w.expectNetworks(good.GetUID())
		w.expectReady(w.get(v1.SchemeGroupVersion, good.GetName()), metav1.ConditionTrue, v1.ReasonProvisioned)
		refused := w.get(v1.SampleGroupVersion, bad.GetName())
		if m := w.expectReady(refused, metav1.ConditionFalse, v1.ReasonInvalidSpec); !strings.Contains(m,
			"spec.gateway is required") {
			w.Errorf("got the message %q", m)
		}
		if refused.Status.ObservedGeneration != 0 {
			w.Errorf("got observedGeneration %d, want none", refused.Status.ObservedGeneration)
		}
		if got := w.events(bad.GetUID()); !slices.Equal(got, []string{"Warning InvalidSpec"}) {
			w.Errorf("got events %q", got)
		}

		time.Sleep(24 * time.Hour)
		if now := w.get(v1.SampleGroupVersion, bad.GetName()); now.ResourceVersion != refused.ResourceVersion {
			w.Errorf("the status was written again: generation %d, then %d", refused.Generation, now.Generation)
		}

		w.patch(v1.SampleGroupVersion, bad.GetName(), `{"spec":{"gateway":"192.168.0.1"}}`)
		waitIdle()
		w.expectNetworks(good.GetUID(), bad.GetUID())
		w.expectReady(w.get(v1.SampleGroupVersion, bad.GetName()), metav1.ConditionTrue, v1.ReasonProvisioned)
		// the warning event has expired
		if got := w.events(bad.GetUID()); !slices.Equal(got, []string{"Normal Created"}) {
			w.Errorf("got events %q", got)
		}
	})
}

// A definition may gain its status subresource later.
func TestStatusSubresourceAddedLater(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run(nil, nil).stop()
		w.apply("testdata", "samplecrd-crd.yaml")
		w.apply("testdata", "samplecrd-network.yaml")
		waitIdle()
		w.redefine("crd", "network.yaml")
		time.Sleep(11 * time.Minute)
		got := w.get(v1.SchemeGroupVersion, "example-network")
		if got.Status.ObservedGeneration != got.Generation {
			w.Errorf("got observedGeneration %d, want %d", got.Status.ObservedGeneration, got.Generation)
		}
	})
}

// failing is an in-memory folder whose writes fail while full is set.
type failing struct {
	record.Memory
	full atomic.Bool
}

func (f *failing) Write(name string, data []byte) error {
	if f.full.Load() {
		return errors.New("the disk is full")
	}
	return f.Memory.Write(name, data)
}

func TestProviderErrorIsReportedAndRetried(t *testing.T) {
	withFixture(t, func(w *fixture) {
		files := &failing{}
		files.full.Store(true)
		defer w.run(nil, files).stop()
		w.define()
		n := w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		message := w.expectReady(w.get(v1.SchemeGroupVersion, "a"), metav1.ConditionFalse, v1.ReasonProviderError)
		if !strings.Contains(message, "the disk is full") {
			w.Errorf("got the message %q", message)
		}
		files.full.Store(false)
		time.Sleep(10 * time.Minute)
		w.expectReady(w.get(v1.SchemeGroupVersion, "a"), metav1.ConditionTrue, v1.ReasonProvisioned)
		if got := w.events(n.UID); !slices.Equal(got, []string{"Warning ProviderError", "Normal Created"}) {
			w.Errorf("got events %q", got)
		}
	})
}

// blind is an in-memory folder whose first watch fails, after a change that it did not report.
type blind struct {
	record.Memory
	failed atomic.Bool
	miss   chan func()
}

func (f *blind) Watch(ctx context.Context, changed func(string)) error {
	if f.failed.Swap(true) {
		return f.Memory.Watch(ctx, changed)
	}
	changed("")
	(<-f.miss)()
	return errors.New("the folder is gone")
}

func TestChangesDuringFailedWatchAreFound(t *testing.T) {
	withFixture(t, func(w *fixture) {
		files := &blind{miss: make(chan func())}
		defer w.run(nil, files).stop()
		w.define()
		n := w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		files.miss <- func() {
			if err := files.Remove(file(n.UID)); err != nil {
				w.Error(err)
			}
		}
		waitIdle()
		if _, err := files.Read(file(n.UID)); err != nil {
			w.Errorf("the network was not restored: %v", err)
		}
	})
}
