package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
)

// programVariable makes this test binary run the program instead of the tests.
const programVariable = "BOWLINE_NETWORK_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(neutrontest.Main(m))
}

// machine is a server on a socket, a folder of records, and the program as a separate process.
type machine struct {
	*testing.T
	plane      *bowline.Plane
	networks   client.Resource[*v1.Network]
	kubeconfig string
	records    string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{
		T:          t,
		kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"),
		records:    filepath.Join(t.TempDir(), "records"),
	}
	m.serve()
	t.Cleanup(func() { m.plane.Close() })
	return m
}

// serve starts a server with a fixed identity and an empty store.
func (m *machine) serve() {
	m.Helper()
	var err error
	m.plane, err = bowline.Start(m.Context(), bowline.Options{ID: "0ddba11-this-machine", Listen: "127.0.0.1:0"})
	if err != nil {
		m.Fatal(err)
	}
	config, err := m.plane.SocketConfig()
	if err != nil {
		m.Fatal(err)
	}
	c, err := client.New(config)
	if err != nil {
		m.Fatal(err)
	}
	m.networks = client.Of[*v1.Network](c, v1.SchemeGroupVersion.WithResource(v1.Resource))
	define(m.T, c)
	writeKubeconfig(m.T, config, m.kubeconfig)
}

// restart stops the server, which loses all its objects, and starts it again.
func (m *machine) restart() {
	m.Helper()
	if err := m.plane.Close(); err != nil {
		m.Fatal(err)
	}
	m.serve()
}

func define(t *testing.T, c *client.Client) {
	t.Helper()
	data, err := os.ReadFile("../crd/network.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &crd.Object); err != nil {
		t.Fatal(err)
	}
	gvr := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	if _, err := client.Of[*unstructured.Unstructured](c, gvr).Create(t.Context(), crd,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func writeKubeconfig(t *testing.T, config *rest.Config, path string) {
	t.Helper()
	file := api.NewConfig()
	file.Clusters["c"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["u"] = &api.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["x"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	file.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
}

// start starts the program.
func (m *machine) start() *exec.Cmd {
	m.Helper()
	program := exec.CommandContext(m.Context(), os.Args[0], "--kubeconfig", m.kubeconfig, "--provider", "record",
		"--state", m.records)
	program.Env = append(os.Environ(), programVariable+"=yes")
	if err := program.Start(); err != nil {
		m.Fatal(err)
	}
	return program
}

// kill ends the program with SIGKILL.
func (m *machine) kill(program *exec.Cmd) {
	m.Helper()
	if err := program.Process.Kill(); err != nil {
		m.Fatal(err)
	}
	program.Wait() // its error is that it was killed
}

// changes waits for count watch events.
func (m *machine) changes(watch *client.Stream[*v1.Network], count int) {
	m.Helper()
	for range count {
		if _, _, err := watch.Next(); err != nil {
			m.Fatal(err)
		}
	}
}

func (m *machine) watch() *client.Stream[*v1.Network] {
	m.Helper()
	watch, err := m.networks.Watch(m.Context(), "default", metav1.ListOptions{})
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(watch.Stop)
	return watch
}

func (m *machine) create(name string) {
	m.Helper()
	n := &v1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       v1.NetworkSpec{CIDR: "10.0.0.0/8", Gateway: "10.0.0.1"},
	}
	if _, err := m.networks.Create(m.Context(), n, metav1.CreateOptions{}); err != nil {
		m.Fatal(err)
	}
}

// awaitReady waits until every Network is ready at its current generation and none is being deleted.
func (m *machine) awaitReady() []*v1.Network {
	m.Helper()
	watch := m.watch()
	for {
		page, err := m.networks.List(m.Context(), "default", metav1.ListOptions{})
		if err != nil {
			m.Fatal(err)
		}
		waiting := 0
		for _, n := range page.Items {
			ready := meta.IsStatusConditionTrue(n.Status.Conditions, v1.ConditionReady)
			if n.DeletionTimestamp != nil || !ready || n.Status.ObservedGeneration != n.Generation {
				waiting++
			}
		}
		if waiting == 0 {
			return page.Items
		}
		m.changes(watch, 1)
	}
}

// The program is killed after varying numbers of watch events while users keep writing. In the end each
// declared network exists once and there are no others.
func TestKilledProgramCreatesEachNetworkOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for round := range 6 {
		program, watch := m.start(), m.watch()
		m.create(fmt.Sprintf("a-%d", round))
		m.create(fmt.Sprintf("b-%d", round))
		if round > 0 {
			before := fmt.Sprintf("a-%d", round-1)
			if err := m.networks.Delete(m.Context(), "default", before, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			patch := []byte(`{"spec":{"gateway":"10.0.0.2"}}`)
			if _, err := m.networks.Patch(m.Context(), "default", fmt.Sprintf("b-%d", round-1), "",
				types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		m.changes(watch, 2+round)
		m.kill(program)
	}
	program := m.start()
	networks := m.awaitReady()
	files, err := os.ReadDir(m.records)
	if err != nil || len(networks) != 7 || len(files) != len(networks) {
		t.Errorf("got %d Networks and the records %v, %v; want 7 of each", len(networks), files, err)
	}
	stopped := time.Now()
	if err := program.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := program.Wait(); err != nil || time.Since(stopped) > 5*time.Second {
		t.Errorf("the program did not stop cleanly: %v", err)
	}
}
