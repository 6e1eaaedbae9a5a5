package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gophernetworks "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	gophersubnets "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/controller"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron"
)

// neutronProcess runs the controller with the neutron provider.
func neutronProcess(ctx context.Context, config *rest.Config) error {
	c := bowlinetest.ExternalSystem[*cloud](ctx)
	log := slog.New(slog.DiscardHandler)
	p, err := neutron.New(planeID, c.client(disturbed{ctx, c}), neutron.Options{Poll: c.poll, Log: log})
	if err != nil {
		return err
	}
	defer p.(io.Closer).Close()
	loop, err := controller.New(controller.Options{Config: config, Provider: p, Log: log})
	if err != nil {
		return err
	}
	loop.Run(ctx)
	return nil
}

// real is a Neutron network with its subnets.
type real struct {
	Up      bool
	Subnets []string // each as range, gateway and description
}

// realNetworks returns all networks of the project by name. Networks of the same name share a list.
func realNetworks(ctx context.Context, client *gophercloud.ServiceClient) (map[string][]real, error) {
	subnetPages, err := gophersubnets.List(client, gophersubnets.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	subnets, err := gophersubnets.ExtractSubnets(subnetPages)
	if err != nil {
		return nil, err
	}
	of := map[string][]string{}
	for _, s := range subnets {
		of[s.NetworkID] = append(of[s.NetworkID],
			fmt.Sprintf("%s with gateway %s, %s", s.CIDR, s.GatewayIP, s.Description))
	}
	networkPages, err := gophernetworks.List(client, gophernetworks.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	networks, err := gophernetworks.ExtractNetworks(networkPages)
	if err != nil {
		return nil, err
	}
	all := map[string][]real{}
	for _, n := range networks {
		slices.Sort(of[n.ID])
		all[n.Name] = append(all[n.Name], real{n.AdminStateUp, of[n.ID]})
	}
	return all, nil
}

// inNeutron returns the networks of a cloud, for Scenario.Snapshot.
func inNeutron(system any) any {
	c := system.(*cloud)
	all, err := realNetworks(context.Background(), c.client(c.transport))
	if err != nil {
		return err.Error()
	}
	return all
}

// readyIsInNeutron returns an error if a Network is ready but has no real network.
func readyIsInNeutron(s bowlinetest.State) error {
	for _, n := range s.Kind(v1.Kind) {
		conditions, _, _ := unstructured.NestedSlice(n.Object, "status", "conditions")
		if len(conditions) == 0 || n.GetDeletionTimestamp() != nil ||
			conditions[0].(map[string]any)["status"] != "True" {
			continue
		}
		if len(s.External.(map[string][]real)["bowline."+planeID+"."+string(n.GetUID())]) == 0 {
			return fmt.Errorf("network %s is ready, but does not exist", n.GetName())
		}
	}
	return nil
}

// eachOnce returns an error unless the real networks are exactly the declared ones, each once and with one
// subnet.
func eachOnce(s bowlinetest.State) error {
	left := map[string]bool{}
	for name := range s.External.(map[string][]real) {
		left[name] = true
	}
	var errs []error
	for _, n := range s.Kind(v1.Kind) {
		name := "bowline." + planeID + "." + string(n.GetUID())
		delete(left, name)
		cidr, _, _ := unstructured.NestedString(n.Object, "spec", "cidr")
		gateway, _, _ := unstructured.NestedString(n.Object, "spec", "gateway")
		want := []real{{true, []string{fmt.Sprintf("%s with gateway %s, %s", cidr, gateway, name)}}}
		if got := s.External.(map[string][]real)[name]; fmt.Sprint(got) != fmt.Sprint(want) {
			errs = append(errs, fmt.Errorf("Neutron networks of %s: got %v, want %v", n.GetName(), got, want))
		}
	}
	if len(left) > 0 {
		errs = append(errs, fmt.Errorf("undeclared networks: %v", left))
	}
	return errors.Join(errs...)
}

// wholeLife creates networks, changes the gateway and then the range of the first one, which replaces its
// subnet, and deletes the last one.
func wholeLife(names ...string) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		networks, err := networksOf(config)
		if err != nil {
			return err
		}
		for _, name := range names {
			n := &v1.Network{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
				Spec:       v1.NetworkSpec{CIDR: "192.168.0.0/16", Gateway: "192.168.0.1"},
			}
			if _, err := networks.Create(ctx, n, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		for _, spec := range []string{`{"gateway":"192.168.0.2"}`, `{"cidr":"10.0.0.0/8","gateway":"10.0.0.1"}`} {
			time.Sleep(pause)
			patch := []byte(`{"spec":` + spec + `}`)
			if _, err := networks.Patch(ctx, "default", names[0], "", types.MergePatchType, patch,
				metav1.PatchOptions{}); err != nil {
				return err
			}
		}
		time.Sleep(pause)
		return networks.Delete(ctx, "default", names[len(names)-1], metav1.DeleteOptions{})
	}
}

// neutronScenario is a scenario of the controller with a Neutron that fails as given.
func neutronScenario(fails failure, act func(context.Context, *rest.Config) error) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:        []bowlinetest.Option{bowlinetest.CRDs("../crd/network.yaml")},
		ExternalSystem: func() any { return fakeCloud(fails) },
		Processes:      []bowlinetest.Process{{Name: "network", Run: neutronProcess}},
		Act:            act,
		PeriodicWrites: true, // it polls Neutron
		Invariants:     []func(bowlinetest.State) error{readyIsInNeutron},
		ExternalState:  inNeutron,
		Skip:           poll,
		Compare: func(s bowlinetest.State) bowlinetest.State {
			if err := eachOnce(s); err != nil {
				s.External = err.Error()
			}
			return withoutNeutronIDs(s)
		},
	}
}

var neutronID = regexp.MustCompile(`Neutron network [0-9a-f-]{36}`)

// withoutNeutronIDs removes the random Neutron IDs from a state.
func withoutNeutronIDs(s bowlinetest.State) bowlinetest.State {
	for _, n := range s.Kind(v1.Kind) {
		conditions, _, _ := unstructured.NestedSlice(n.Object, "status", "conditions")
		for _, c := range conditions {
			c := c.(map[string]any)
			c["message"] = neutronID.ReplaceAllString(c["message"].(string), "Neutron network")
		}
		if len(conditions) > 0 {
			_ = unstructured.SetNestedSlice(n.Object, conditions, "status", "conditions") // where it was read
		}
	}
	return s
}

// poll reports whether a point is the periodic list of networks, which never changes anything after the first
// ones.
func poll(p bowlinetest.Point) bool {
	return strings.HasPrefix(p.Object, "GET networks of description") && p.N > 3
}

// After any single fault, at the API or between the controller and Neutron, each declared network exists once
// with one matching subnet, and nothing else exists.
func TestExploreNeutronController(t *testing.T) {
	t.Parallel()
	r := bowlinetest.Explore(t, neutronScenario(status(http.StatusInternalServerError), wholeLife("a", "b")))
	if r.Tried() < 150 { // of those that a run reached, which depends on how busy the machine is
		t.Errorf("only %d fault points were tried; no run reached %q", r.Tried(), r.Unreached)
	}
}

// Whichever request of a network's life fails, and however, the network is created, changed and removed in
// the end.
func TestExploreNeutronFailures(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, way := range []struct {
		name  string
		fails failure
	}{
		{"401", status(http.StatusUnauthorized)},
		{"409", status(http.StatusConflict)},
		{"429", status(http.StatusTooManyRequests)},
		{"503", status(http.StatusServiceUnavailable)},
		{"no answer until the client gives up", never},
		{"done, and no answer until the client gives up", doneAndNever},
		{"no answer, and done when the client has given up", processedAfterTimeout},
	} {
		t.Run(way.name, func(t *testing.T) {
			s := neutronScenario(way.fails, wholeLife("a"))
			s.Faults = []bowlinetest.Fault{bowlinetest.Refused}
			s.Skip = func(p bowlinetest.Point) bool { return p.Verb != "effect" || poll(p) }
			tried += bowlinetest.Explore(t, s).Tried()
		})
	}
	if t.Logf("%d fault points", tried); tried < 100 {
		t.Errorf("only %d fault points were tried: the scenario does too little", tried)
	}
}
