// Package suite is the contract test of both controllers of the example. Their tests call it with their
// program.
package suite

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/neutron"
)

// Program is a controller to be tested.
type Program struct {
	// Run runs the controller until ctx ends, and returns when everything that it started has ended.
	Run func(ctx context.Context, config *rest.Config, n neutron.Interface) error
	// Definitions is the folder of the CRD manifests.
	Definitions string
	// Log receives the controller's log, from slog and klog.
	Log *Log
}

// definition returns the path of a manifest.
func (p Program) definition(name string) string { return filepath.Join(p.Definitions, name) }

// Networks is a client of Networks as unstructured objects, whose fields may be invalid or missing.
type Networks struct {
	client.Resource[*unstructured.Unstructured]
}

// NetworksOf returns a client of the Networks on a server.
func NetworksOf(config *rest.Config) (Networks, error) {
	c, err := client.New(config)
	if err != nil {
		return Networks{}, err
	}
	resource := schema.GroupVersionResource{Group: "samplecrd.k8s.io", Version: "v1", Resource: "networks"}
	return Networks{client.Of[*unstructured.Unstructured](c, resource)}, nil
}

// Declare creates a Network. A nil spec creates one without a spec.
func (n Networks) Declare(ctx context.Context, name string, spec map[string]any) error {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network"}}
	obj.SetNamespace(metav1.NamespaceDefault)
	obj.SetName(name)
	if spec != nil {
		obj.Object["spec"] = spec
	}
	_, err := n.Create(ctx, obj, metav1.CreateOptions{})
	return err
}

// Change patches a Network.
func (n Networks) Change(ctx context.Context, name, patch string) error {
	_, err := n.Patch(ctx, metav1.NamespaceDefault, name, "", types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	return err
}

// Remove deletes a Network.
func (n Networks) Remove(ctx context.Context, name string) error {
	return n.Delete(ctx, metav1.NamespaceDefault, name, metav1.DeleteOptions{})
}

// spec returns the network of the documents.
func spec() map[string]any { return map[string]any{"cidr": "192.168.0.0/16", "gateway": "192.168.0.1"} }

// fixture is a control plane with a Neutron, in virtual time.
type fixture struct {
	*testing.T
	Networks
	config  *rest.Config
	program Program
	neutron *neutron.Memory
	before  func(verb, name string) error // called before each write to Neutron; see troubled
}

// withFixture runs a test with a new fixture, whose server has the given definitions.
func withFixture(t *testing.T, program Program, test func(w *fixture), definitions ...string) {
	t.Parallel()
	var options []bowlinetest.Option
	for _, d := range definitions {
		options = append(options, bowlinetest.CRDs(program.definition(d)))
	}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		networks, err := NetworksOf(p.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		test(&fixture{T: t, Networks: networks, config: p.RESTConfig(), program: program, neutron: &neutron.Memory{}})
	}, options...)
}

// start starts the program. stop ends it and reports its error.
func (w *fixture) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.program.Run(ctx, w.config, troubled{w.neutron, w.before}) }()
	w.waitIdle()
	return func() {
		w.Helper()
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the program ended with %v", err)
		}
	}
}

// waitIdle waits until the controller is idle.
func (w *fixture) waitIdle() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// do fails the test if err is not nil, and otherwise waits until the controller is idle.
func (w *fixture) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	w.waitIdle()
}

// expectNetworks checks that Neutron has exactly these networks, by name.
func (w *fixture) expectNetworks(want map[string]neutron.Network) {
	w.Helper()
	got := map[string]neutron.Network{}
	for _, n := range w.neutron.Names() {
		got[n.Name], _ = w.neutron.Get(n.Namespace, n.Name)
	}
	if !maps.Equal(got, want) {
		w.Fatalf("Neutron has %v, want %v", got, want)
	}
}

// define creates a definition.
func (w *fixture) define(name string) {
	w.Helper()
	text, err := os.ReadFile(w.program.definition(name))
	if err != nil {
		w.Fatal(err)
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &definition.Object); err != nil {
		w.Fatal(err)
	}
	definitions := definition.GroupVersionKind().GroupVersion().WithResource("customresourcedefinitions")
	_, err = w.resource(definitions).Create(w.Context(), definition, metav1.CreateOptions{})
	w.do(err)
}

// resource returns a client of any resource.
func (w *fixture) resource(r schema.GroupVersionResource) client.Resource[*unstructured.Unstructured] {
	w.Helper()
	c, err := client.New(w.config)
	if err != nil {
		w.Fatal(err)
	}
	return client.Of[*unstructured.Unstructured](c, r)
}
