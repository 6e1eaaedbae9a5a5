package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

var networkResource = schema.GroupVersionResource{Group: "samplecrd.k8s.io", Version: "v1", Resource: "networks"}

// recordedNetworks measures the Network controller in a separate process, with the record provider.
func recordedNetworks() measurement {
	const count = 1_000
	return measurement{
		figures: []figure{{"1,000 Networks (record provider) declared to Ready, 4 workers, over TLS", seconds, 2}},
		starts:  true,
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			c, err := s.networkController(ctx, namespace, nil, "record")
			if err != nil {
				return nil, err
			}
			took, err := s.measure("networks", count, func() error { return c.declare(ctx, "network", count, 8) })
			return []reading{{took.elapsed.Seconds(), took.client / count, took.server / count}},
				errors.Join(err, c.stop())
		}),
	}
}

// networkController is a Network controller in a process, with clients to declare networks.
type networkController struct {
	command   *exec.Cmd
	core      *kubernetes.Clientset
	namespace string
	networks  dynamic.ResourceInterface
	log       string // a file
}

// networkController starts a controller on a server and waits until it has created a first network.
func (s *server) networkController(ctx context.Context, namespace string, env []string,
	provider string) (*networkController, error) {
	dyn, err := dynamic.NewForConfig(s.config)
	if err != nil {
		return nil, err
	}
	core, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return nil, err
	}
	if err := defineNetworks(ctx, dyn); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(s.lab.dir, "networks-")
	if err != nil {
		return nil, err
	}
	c := &networkController{
		core: core, namespace: namespace, networks: dyn.Resource(networkResource).Namespace(namespace),
		log: filepath.Join(folder, "log"),
	}
	if c.command, err = s.startNetworkController(ctx, folder, c.log, env, provider); err != nil {
		return nil, err
	}
	if err := c.declare(ctx, "first", 1, 1); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// startNetworkController starts the program, with its log in a file.
func (s *server) startNetworkController(ctx context.Context, folder, log string, env []string,
	provider string) (*exec.Cmd, error) {
	kubeconfig, program := filepath.Join(folder, "kubeconfig"), filepath.Join(s.lab.dir, "network")
	if err := writeKubeconfig(kubeconfig, s.config); err != nil {
		return nil, err
	}
	if err := s.lab.buildNetworkController(ctx, program); err != nil {
		return nil, err
	}
	output, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	command := exec.Command(program, "--kubeconfig", kubeconfig, "--provider", provider, "--state",
		filepath.Join(folder, "records"))
	profile, err := filepath.Abs(filepath.Join(s.lab.profiles, "networks-controller.pprof"))
	if err != nil {
		return nil, err
	}
	command.Env, command.Stderr = append(append(os.Environ(), env...), "BENCH_PROFILE="+profile), output
	return command, command.Start()
}

// profiler is compiled into the controller if profiles are requested.
const profiler = `package main

import (
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

func init() {
	file, err := os.Create(os.Getenv("BENCH_PROFILE"))
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		panic(err)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		<-ended
		pprof.StopCPUProfile()
	}()
}
`

func (l *lab) buildNetworkController(ctx context.Context, program string) error {
	const pkg = "examples/network/cmd"
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", program)
	build.Dir, build.Stderr = root, os.Stderr
	if l.profiles != "" {
		source, overlay := filepath.Join(l.dir, "profiler.go"), filepath.Join(l.dir, "profiler.json")
		replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, pkg,
			"profiler.go"): source}})
		if err := errors.Join(err, os.WriteFile(source, []byte(profiler), 0o600),
			os.WriteFile(overlay, replace, 0o600)); err != nil {
			return err
		}
		build.Args = append(build.Args, "-overlay", overlay)
	}
	build.Args = append(build.Args, "./"+pkg)
	if err := build.Run(); err != nil {
		return fmt.Errorf("%s: %w", build, err)
	}
	return nil
}

func defineNetworks(ctx context.Context, dyn dynamic.Interface) error {
	data, err := os.ReadFile(filepath.Join("..", "examples", "network", "crd", "network.yaml"))
	if err != nil {
		return err
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &definition.Object); err != nil {
		return err
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	_, err = dyn.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{})
	return err
}

// declare creates networks with several concurrent clients, and returns when a watch has reported all of them
// as ready.
func (c *networkController) declare(ctx context.Context, name string, count, clients int) error {
	path := "/apis/" + networkResource.Group + "/" + networkResource.Version + "/namespaces/" + c.namespace + "/" +
		networkResource.Resource
	stream, err := c.core.RESTClient().Get().AbsPath(path).Param("watch", "true").Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	created := make(chan error, 1)
	go func() {
		created <- drive(ctx, clients, count, func(i int) error {
			return createFirst(ctx, c.networks, declaredNetwork(name, i))
		})
	}()
	return errors.Join(awaitReady(json.NewDecoder(stream), name, count), <-created)
}

// networkEvent contains the fields of a watch event that are read.
type networkEvent struct {
	Object struct {
		Metadata struct {
			Name       string
			Generation int64
		}
		Status struct {
			ObservedGeneration int64
			Conditions         []metav1.Condition
		}
	}
}

// awaitReady reads a watch until count networks of a name are ready.
func awaitReady(events *json.Decoder, name string, count int) error {
	for ready := map[string]bool{}; len(ready) < count; {
		var e networkEvent
		if err := events.Decode(&e); err != nil {
			return fmt.Errorf("%d of %d networks are ready: %w", len(ready), count, err)
		}
		o := e.Object
		if strings.HasPrefix(o.Metadata.Name, name+"-") && o.Metadata.Generation == o.Status.ObservedGeneration &&
			meta.IsStatusConditionTrue(o.Status.Conditions, "Ready") {
			ready[o.Metadata.Name] = true
		}
	}
	return nil
}

func declaredNetwork(name string, i int) *unstructured.Unstructured {
	prefix := fmt.Sprintf("10.%d.%d", i>>8, i&255)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": networkResource.GroupVersion().String(), "kind": "Network",
		"metadata": map[string]any{"name": fmt.Sprintf("%s-%d", name, i)},
		"spec":     map[string]any{"cidr": prefix + ".0/24", "gateway": prefix + ".1"},
	}}
}

// stop terminates the controller. If it failed, the error includes its log.
func (c *networkController) stop() error {
	err := errors.Join(c.command.Process.Signal(syscall.SIGTERM), c.command.Wait())
	if err == nil {
		return nil
	}
	log, readErr := os.ReadFile(c.log)
	return errors.Join(fmt.Errorf("the network controller: %w\n%s", err, log), readErr)
}
