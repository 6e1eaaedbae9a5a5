package suite

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/neutron"
)

// Explored runs a controller once for each possible fault, including crashes before and after each write to
// Neutron, which survives them. After each run Neutron must have the declared networks. It fails if fewer
// than atLeast fault points were tried.
func Explored(t *testing.T, program Program, atLeast int) {
	t.Helper()
	r := bowlinetest.Explore(t, scenario(program))
	t.Logf("%d fault points were tried, in %d runs", r.Tried(), r.Runs)
	if r.Tried() < atLeast {
		t.Errorf("only %d fault points were tried, of at least %d", r.Tried(), atLeast)
	}
}

// Forgetful checks that Explore detects a controller that does not list Neutron's networks when it starts,
// like the one in the documents: networks whose objects were deleted meanwhile are never removed.
func Forgetful(t *testing.T, program Program) {
	t.Helper()
	runs := program.Run
	program.Run = func(ctx context.Context, config *rest.Config, n neutron.Interface) error {
		return runs(ctx, config, forgetful{n})
	}
	s := scenario(program)
	s.Faults = []bowlinetest.Fault{bowlinetest.CrashBefore, bowlinetest.CrashAfter}
	if r := bowlinetest.Search(t, s); len(r.Failures) == 0 {
		t.Errorf("no run of %d failed", r.Runs)
	}
}

type forgetful struct{ neutron.Interface }

func (forgetful) Names() []neutron.Name { return nil }

func scenario(program Program) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:        []bowlinetest.Option{bowlinetest.CRDs(program.definition("network.yaml"))},
		ExternalSystem: func() any { return &neutron.Memory{} },
		Processes: []bowlinetest.Process{{Name: "sample-controller",
			Run: func(ctx context.Context, config *rest.Config) error {
				return program.Run(ctx, config, effects{ctx, bowlinetest.ExternalSystem[*neutron.Memory](ctx)})
			}}},
		Act:           act,
		Invariants:    []func(bowlinetest.State) error{asDeclared},
		ExternalState: snapshot,
	}
}

// effects makes each write to Neutron a point at which Explore may inject a fault.
type effects struct {
	ctx context.Context // of the process
	*neutron.Memory
}

func (e effects) Create(namespace, name string, n neutron.Network) error {
	return bowlinetest.Effect(e.ctx, "create "+name, func() error { return e.Memory.Create(namespace, name, n) })
}

func (e effects) Update(namespace, name string, n neutron.Network) error {
	return bowlinetest.Effect(e.ctx, "update "+name, func() error { return e.Memory.Update(namespace, name, n) })
}

func (e effects) Delete(namespace, name string) error {
	return bowlinetest.Effect(e.ctx, "delete "+name, func() error { return e.Memory.Delete(namespace, name) })
}

// act declares three networks, changes one, deletes one, and replaces one by another of the same name.
func act(ctx context.Context, config *rest.Config) error {
	networks, err := NetworksOf(config)
	if err != nil {
		return err
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := networks.Declare(ctx, name, spec()); err != nil {
			return err
		}
	}
	time.Sleep(5 * time.Second)
	if err := networks.Change(ctx, "a", change); err != nil {
		return err
	}
	time.Sleep(5 * time.Second)
	for _, name := range []string{"b", "c"} {
		if err := networks.Remove(ctx, name); err != nil {
			return err
		}
	}
	return networks.Declare(ctx, "c", map[string]any{"cidr": changed.Cidr, "gateway": changed.Gateway})
}

// snapshot returns Neutron's networks.
func snapshot(system any) any {
	networks := map[string]neutron.Network{}
	for _, n := range system.(*neutron.Memory).Names() {
		if network, exists := system.(*neutron.Memory).Get(n.Namespace, n.Name); exists { // not deleted since
			networks[n.Name] = network
		}
	}
	return networks
}

// asDeclared returns an error if Neutron has a network that was never declared.
func asDeclared(s bowlinetest.State) error {
	for name, n := range s.External.(map[string]neutron.Network) {
		if !slices.Contains([]string{"a", "b", "c"}, name) || n != first && n != changed {
			return fmt.Errorf("nobody declared network %s as %v", name, n)
		}
	}
	return nil
}
