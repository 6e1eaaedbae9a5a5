package suite

import (
	"testing"
	"time"

	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/neutron"
)

// definitions are the two of the example: with a schema, and as printed in the documents.
var definitions = []string{"network.yaml", "network-v1beta1.yaml"}

var (
	first   = neutron.Network{Cidr: "192.168.0.0/16", Gateway: "192.168.0.1"}
	changed = neutron.Network{Cidr: "10.0.0.0/8", Gateway: "10.0.0.1"}
)

const change = `{"spec":{"cidr":"10.0.0.0/8","gateway":"10.0.0.1"}}`

// Contract checks the behavior of a controller of Networks, in virtual time.
func Contract(t *testing.T, program Program) {
	t.Parallel()
	for _, d := range definitions {
		t.Run("created, changed and deleted, "+d, func(t *testing.T) { withFixture(t, program, createChangeDelete, d) })
	}
	t.Run("deleted while it is stopped", func(t *testing.T) {
		withFixture(t, program, changesWhileStopped, definitions[0])
	})
	t.Run("a resync does nothing", func(t *testing.T) { withFixture(t, program, resyncIgnored, definitions[0]) })
	t.Run("no definition", func(t *testing.T) { withFixture(t, program, definitionCreatedLater) })
	t.Run("no spec", func(t *testing.T) { withFixture(t, program, missingSpec, definitions[1]) })
	t.Run("nothing to do", func(t *testing.T) { withFixture(t, program, nothingDeclared, definitions[0]) })
}

// Networks are created, changed and deleted with their objects.
func createChangeDelete(w *fixture) {
	defer w.start()()
	w.do(w.Declare(w.Context(), "a", spec()))
	w.do(w.Declare(w.Context(), "b", spec()))
	w.expectNetworks(map[string]neutron.Network{"a": first, "b": first})
	w.do(w.Change(w.Context(), "a", change))
	w.expectNetworks(map[string]neutron.Network{"a": changed, "b": first})
	w.do(w.Remove(w.Context(), "b"))
	w.expectNetworks(map[string]neutron.Network{"a": changed})
}

// The controller catches up with changes made while it did not run. A network whose object was deleted
// meanwhile causes no event.
func changesWhileStopped(w *fixture) {
	stop := w.start()
	for _, name := range []string{"a", "b", "c"} {
		w.do(w.Declare(w.Context(), name, spec()))
	}
	stop()
	w.do(w.Remove(w.Context(), "a"))
	w.do(w.Change(w.Context(), "b", change))
	w.expectNetworks(map[string]neutron.Network{"a": first, "b": first, "c": first})
	defer w.start()()
	w.expectNetworks(map[string]neutron.Network{"b": changed, "c": first})
}

// As in the documents, an update with the same resourceVersion is ignored. A change made in Neutron therefore
// remains until the object changes or the controller is restarted.
func resyncIgnored(w *fixture) {
	stop := w.start()
	w.do(w.Declare(w.Context(), "a", spec()))
	w.do(w.neutron.Update("default", "a", changed))
	time.Sleep(time.Hour)
	w.expectNetworks(map[string]neutron.Network{"a": changed})
	w.do(w.Change(w.Context(), "a", `{"metadata":{"labels":{"look":"again"}}}`))
	w.expectNetworks(map[string]neutron.Network{"a": first})
	w.do(w.neutron.Delete("default", "a"))
	stop()
	defer w.start()()
	w.expectNetworks(map[string]neutron.Network{"a": first})
}

// The definition may be created later.
func definitionCreatedLater(w *fixture) {
	stop := w.start()
	w.waitIdle()
	stop() // it can be stopped while it waits
	defer w.start()()
	w.define(definitions[0])
	w.do(w.Declare(w.Context(), "a", spec()))
	time.Sleep(time.Minute) // client-go's reflector retries after up to 30 s
	w.expectNetworks(map[string]neutron.Network{"a": first})
}

// An object without a spec, which a definition without a schema permits, has no network. If an object loses
// its spec, its network remains.
func missingSpec(w *fixture) {
	defer w.start()()
	w.do(w.Declare(w.Context(), "a", nil))
	w.do(w.Declare(w.Context(), "b", spec()))
	w.expectNetworks(map[string]neutron.Network{"b": first})
	w.do(w.Change(w.Context(), "b", `{"spec":null}`))
	w.expectNetworks(map[string]neutron.Network{"b": first})
	w.do(w.Change(w.Context(), "a", change))
	w.expectNetworks(map[string]neutron.Network{"a": changed, "b": first})
}

// The controller stops even if no Network was ever declared.
func nothingDeclared(w *fixture) {
	w.start()()
	w.expectNetworks(nil)
}

// Undecodable checks the effect of an object that cannot be decoded into the Go type, which a definition without a
// schema permits. If continues is true, the controller must process other objects meanwhile; otherwise they wait until
// the object is deleted. An existing network of that object remains.
func Undecodable(t *testing.T, program Program, continues bool) {
	withFixture(t, program, func(w *fixture) {
		want := map[string]neutron.Network{"bad": first}
		others := func(name string) {
			w.do(w.Declare(w.Context(), name, spec()))
			time.Sleep(time.Hour)
			if continues {
				want[name] = first
			}
			w.expectNetworks(want)
		}
		stop := w.start()
		w.do(w.Declare(w.Context(), "bad", spec()))
		w.expectNetworks(want)
		w.do(w.Change(w.Context(), "bad", `{"spec":{"cidr":5}}`))
		others("comes-after-it")
		stop()
		defer w.start()() // the object exists from the start
		others("comes-later")
		w.do(w.Remove(w.Context(), "bad"))
		time.Sleep(time.Hour) // the interval between retries has grown
		w.expectNetworks(map[string]neutron.Network{"comes-after-it": first, "comes-later": first})
	}, definitions[1])
}
