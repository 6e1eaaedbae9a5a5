package suite

import (
	"testing"
	"time"

	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/neutron"
)

// definitions are the two that the example has: with a schema, and as the documents print it.
var definitions = []string{"network.yaml", "network-v1beta1.yaml"}

var (
	first   = neutron.Network{Cidr: "192.168.0.0/16", Gateway: "192.168.0.1"}
	changed = neutron.Network{Cidr: "10.0.0.0/8", Gateway: "10.0.0.1"}
)

const change = `{"spec":{"cidr":"10.0.0.0/8","gateway":"10.0.0.1"}}`

// Behaves checks what a controller of Networks does, in virtual time.
func Behaves(t *testing.T, program Program) {
	t.Parallel()
	for _, d := range definitions {
		t.Run("created, changed and deleted, "+d, func(t *testing.T) { in(t, program, lives, d) })
	}
	t.Run("deleted while it is away", func(t *testing.T) { in(t, program, misses, definitions[0]) })
	t.Run("a resync does nothing", func(t *testing.T) { in(t, program, resyncs, definitions[0]) })
	t.Run("no definition", func(t *testing.T) { in(t, program, waits) })
	t.Run("no spec", func(t *testing.T) { in(t, program, unspecified, definitions[1]) })
	t.Run("nothing to do", func(t *testing.T) { in(t, program, rests, definitions[0]) })
}

// Networks come, change and go with their objects.
func lives(w *world) {
	defer w.start()()
	w.do(w.Declare(w.Context(), "a", spec()))
	w.do(w.Declare(w.Context(), "b", spec()))
	w.are(map[string]neutron.Network{"a": first, "b": first})
	w.do(w.Change(w.Context(), "a", change))
	w.are(map[string]neutron.Network{"a": changed, "b": first})
	w.do(w.Remove(w.Context(), "b"))
	w.are(map[string]neutron.Network{"a": changed})
}

// What happens while the controller is away it finds out when it comes back: a network that is there and not declared has
// no event any more.
func misses(w *world) {
	stop := w.start()
	for _, name := range []string{"a", "b", "c"} {
		w.do(w.Declare(w.Context(), name, spec()))
	}
	stop()
	w.do(w.Remove(w.Context(), "a"))
	w.do(w.Change(w.Context(), "b", change))
	w.are(map[string]neutron.Network{"a": first, "b": first, "c": first})
	defer w.start()()
	w.are(map[string]neutron.Network{"b": changed, "c": first})
}

// As in the documents, an update of the same resourceVersion is no work. So what somebody changes in Neutron stays, until
// the object changes or the controller starts anew.
func resyncs(w *world) {
	stop := w.start()
	w.do(w.Declare(w.Context(), "a", spec()))
	w.do(w.neutron.Update("default", "a", changed))
	time.Sleep(time.Hour)
	w.are(map[string]neutron.Network{"a": changed})
	w.do(w.Change(w.Context(), "a", `{"metadata":{"labels":{"look":"again"}}}`))
	w.are(map[string]neutron.Network{"a": first})
	w.do(w.neutron.Delete("default", "a"))
	stop()
	defer w.start()()
	w.are(map[string]neutron.Network{"a": first})
}

// The kind may be defined later.
func waits(w *world) {
	stop := w.start()
	w.settle()
	stop() // it can be stopped while it waits
	defer w.start()()
	w.define(definitions[0])
	w.do(w.Declare(w.Context(), "a", spec()))
	time.Sleep(time.Minute) // client-go's reflector looks again after up to half of that
	w.are(map[string]neutron.Network{"a": first})
}

// Nothing is made of an object without a spec, which a definition without a schema allows, and nothing is taken from one
// that has lost it.
func unspecified(w *world) {
	defer w.start()()
	w.do(w.Declare(w.Context(), "a", nil))
	w.do(w.Declare(w.Context(), "b", spec()))
	w.are(map[string]neutron.Network{"b": first})
	w.do(w.Change(w.Context(), "b", `{"spec":null}`))
	w.are(map[string]neutron.Network{"b": first})
	w.do(w.Change(w.Context(), "a", change))
	w.are(map[string]neutron.Network{"a": changed, "b": first})
}

// It is stopped although nothing was ever declared.
func rests(w *world) {
	w.start()()
	w.are(nil)
}

// Misfit checks what becomes of the others when there is an object that the Go type does not fit, which a definition without a
// schema allows: they go on, or wait until it is gone. An older network of that object stays as it is.
func Misfit(t *testing.T, program Program, goOn bool) {
	in(t, program, func(w *world) {
		want := map[string]neutron.Network{"bad": first}
		others := func(name string) {
			w.do(w.Declare(w.Context(), name, spec()))
			time.Sleep(time.Hour)
			if goOn {
				want[name] = first
			}
			w.are(want)
		}
		stop := w.start()
		w.do(w.Declare(w.Context(), "bad", spec()))
		w.are(want)
		w.do(w.Change(w.Context(), "bad", `{"spec":{"cidr":5}}`))
		others("comes-after-it")
		stop()
		defer w.start()() // it is there from the beginning
		others("comes-later")
		w.do(w.Remove(w.Context(), "bad"))
		time.Sleep(time.Hour) // what was tried for long is tried ever more rarely
		w.are(map[string]neutron.Network{"comes-after-it": first, "comes-later": first})
	}, definitions[1])
}
