package suite

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/neutron"
)

// troubled is a Neutron that calls before at the start of each write, if it is not nil.
type troubled struct {
	*neutron.Memory
	before func(verb, name string) error
}

func (n troubled) ready(verb, name string) error {
	if n.before == nil {
		return nil
	}
	return n.before(verb, name)
}

func (n troubled) Create(namespace, name string, network neutron.Network) error {
	if err := n.ready("create", name); err != nil {
		return err
	}
	return n.Memory.Create(namespace, name, network)
}

func (n troubled) Update(namespace, name string, network neutron.Network) error {
	if err := n.ready("update", name); err != nil {
		return err
	}
	return n.Memory.Update(namespace, name, network)
}

func (n troubled) Delete(namespace, name string) error {
	if err := n.ready("delete", name); err != nil {
		return err
	}
	return n.Memory.Delete(namespace, name)
}

// slow delays each write.
func slow(by time.Duration) func(verb, name string) error {
	return func(string, string) error { time.Sleep(by); return nil }
}

// SlowOrFailing checks the behavior of a controller if Neutron is slow or fails, in virtual time.
func SlowOrFailing(t *testing.T, program Program) {
	t.Parallel()
	t.Run("stopped with a full queue", func(t *testing.T) {
		withFixture(t, program, stopWithFullQueue, definitions[0])
	})
	t.Run("a network that always fails", func(t *testing.T) { withFixture(t, program, failingNetwork, definitions[0]) })
	t.Run("two processes", func(t *testing.T) { withFixture(t, program, twoProcesses, definitions[0]) })
	t.Run("declared again while it is created", func(t *testing.T) {
		withFixture(t, program, replacedDuringCreation, definitions[0])
	})
	t.Run("one name in two namespaces", func(t *testing.T) {
		withFixture(t, program, sameNameInTwoNamespaces, definitions[0])
	})
}

// When the controller is stopped, it finishes the current items and leaves the others to the next start.
func stopWithFullQueue(w *fixture) {
	names := map[string]neutron.Network{}
	for i := range 100 {
		name := "n" + strings.Repeat("x", i)
		names[name] = first
		w.do(w.Declare(w.Context(), name, spec()))
	}
	w.before = slow(10 * time.Second)
	stop := w.start()
	began := time.Now()
	stop()
	if took, made := time.Since(began), len(w.neutron.Names()); took > 10*time.Second || made != 2 {
		w.Errorf("stopping took %v, and %d networks were created", took, made)
	}
	w.before = nil
	defer w.start()()
	w.expectNetworks(names)
}

// A failing write is retried at growing intervals and does not delay other objects. After a success the
// interval is reset.
func failingNetwork(w *fixture) {
	var mended atomic.Bool
	var tries atomic.Int64
	w.before = func(verb, name string) error {
		if name == "bad" && !mended.Load() {
			tries.Add(1)
			return errors.New("over quota")
		}
		return nil
	}
	defer w.start()()
	w.do(w.Declare(w.Context(), "bad", spec()))
	for _, name := range []string{"a", "b"} {
		w.do(w.Declare(w.Context(), name, spec()))
	}
	w.expectNetworks(map[string]neutron.Network{"a": first, "b": first})
	time.Sleep(time.Hour)
	w.do(w.Change(w.Context(), "a", change))
	w.expectNetworks(map[string]neutron.Network{"a": changed, "b": first})
	mended.Store(true)
	time.Sleep(time.Hour) // the maximum interval is 1000 s
	w.expectNetworks(map[string]neutron.Network{"a": changed, "b": first, "bad": first})
	if n := tries.Load(); n < 10 || n > 40 {
		w.Errorf("the failing network was tried %d times in an hour", n)
	}

	mended.Store(false)
	w.do(w.Change(w.Context(), "bad", change))
	mended.Store(true)
	time.Sleep(time.Minute)
	w.expectNetworks(map[string]neutron.Network{"a": changed, "b": first, "bad": changed})
}

// Two controllers run concurrently. Their writes conflict, but Neutron has the declared networks in the end.
func twoProcesses(w *fixture) {
	w.before = slow(time.Second)
	defer w.start()()
	defer w.start()()
	for _, name := range []string{"a", "b", "c"} {
		w.do(w.Declare(w.Context(), name, spec()))
	}
	w.expectNetworks(map[string]neutron.Network{"a": first, "b": first, "c": first})
	w.do(w.Change(w.Context(), "a", change))
	w.do(w.Remove(w.Context(), "b"))
	w.expectNetworks(map[string]neutron.Network{"a": changed, "c": first})
}

// A Network is replaced by another of the same name while Neutron creates the first one. In the end the
// second one exists.
func replacedDuringCreation(w *fixture) {
	w.before = slow(20 * time.Second)
	defer w.start()()
	w.do(w.Declare(w.Context(), "a", spec()))
	w.do(w.Remove(w.Context(), "a"))
	w.do(w.Declare(w.Context(), "a", map[string]any{"cidr": changed.Cidr, "gateway": changed.Gateway}))
	w.do(w.Declare(w.Context(), "b", spec()))
	w.do(w.Remove(w.Context(), "b"))
	time.Sleep(time.Minute)
	w.expectNetworks(map[string]neutron.Network{"a": changed})
}

// Networks of the same name in two namespaces are independent.
func sameNameInTwoNamespaces(w *fixture) {
	defer w.start()()
	other := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network",
		"metadata": map[string]any{"namespace": "kube-public", "name": "a"},
		"spec":     map[string]any{"cidr": changed.Cidr, "gateway": changed.Gateway}}}
	w.do(w.Declare(w.Context(), "a", spec()))
	_, err := w.Create(w.Context(), other, metav1.CreateOptions{})
	w.do(err)
	w.do(w.Remove(w.Context(), "a"))
	if got, exists := w.neutron.Get("kube-public", "a"); !exists || got != changed || len(w.neutron.Names()) != 1 {
		w.Errorf("Neutron has %v, of which kube-public/a is %v", w.neutron.Names(), got)
	}
	w.do(w.Declare(w.Context(), "a", spec()))
	w.do(w.Delete(w.Context(), "kube-public", "a", metav1.DeleteOptions{}))
	if got, exists := w.neutron.Get("default", "a"); !exists || got != first || len(w.neutron.Names()) != 1 {
		w.Errorf("Neutron has %v, of which default/a is %v", w.neutron.Names(), got)
	}
}

// Panics checks that a controller survives a panic in Neutron and retries the item.
func Panics(t *testing.T, program Program) {
	withFixture(t, program, func(w *fixture) {
		var once sync.Once
		w.before = func(string, string) error {
			once.Do(func() { panic("a mistake in Neutron's client") })
			return nil
		}
		defer w.start()()
		w.do(w.Declare(w.Context(), "a", spec()))
		w.do(w.Declare(w.Context(), "b", spec()))
		w.expectNetworks(map[string]neutron.Network{"a": first, "b": first})
	}, definitions[0])
}
