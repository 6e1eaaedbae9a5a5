package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// sampleControllers compares the two programs of examples/sample-controller: the one based on our library,
// and the one of the documents with its generated client. Each runs as a process, one after the other, over
// TLS against the same server.
func sampleControllers() measurement {
	return measurement{
		figures: []figure{
			{"sample controller, ours / generated: lines of Go", times, 1.0 / 3},
			{"sample controller, ours / generated: lines of Go written by hand", times, 0.5},
			{"sample controller, ours / generated: live heap with 100,000 Networks", times, 0.5},
			{"sample controller, ours / generated: RssAnon with 100,000 Networks", times, 0.5},
		},
		starts: true,
		most:   2,
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			lines, err := countSamples()
			if err != nil {
				return nil, err
			}
			if err := s.declareNetworks(ctx, namespace); err != nil {
				return nil, err
			}
			theirs, err := s.runSample(ctx, "./examples/sample-controller")
			if err != nil {
				return nil, err
			}
			ours, err := s.runSample(ctx, "./examples/sample-controller/bowline")
			if err != nil {
				return nil, err
			}
			return append(lines, reading{Value: ours.Heap / theirs.Heap},
				reading{Value: ours.Resident / theirs.Resident}), nil
		}),
	}
}

// declareNetworks creates the definition and the Networks, as kubectl apply does.
func (s *server) declareNetworks(ctx context.Context, namespace string) error {
	dyn, err := dynamic.NewForConfig(s.config)
	if err != nil {
		return err
	}
	definition, err := sampleManifest("crd/network.yaml")
	if err != nil {
		return err
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	if _, err := dyn.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return err
	}
	example, err := sampleManifest("example/example-network.yaml")
	if err != nil {
		return err
	}
	resource := schema.GroupVersionResource{Group: "samplecrd.k8s.io", Version: "v1", Resource: "networks"}
	networks, options := dyn.Resource(resource).Namespace(namespace),
		metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}
	if err := createFirst(ctx, networks, sampleNetwork(example, namespace, 0)); err != nil {
		return err
	}
	return drive(ctx, 16, many-1, func(i int) error {
		_, err := networks.Create(ctx, sampleNetwork(example, namespace, i+1), options)
		return err
	})
}

// sampleNetwork returns a Network as kubectl apply sends it, with the applied configuration in an annotation.
func sampleNetwork(example *unstructured.Unstructured, namespace string, i int) *unstructured.Unstructured {
	n := example.DeepCopy()
	n.SetNamespace(namespace)
	n.SetName(fmt.Sprintf("network-%06d", i))
	prefix := fmt.Sprintf("10.%d.%d", i>>8&255, i&255)
	n.Object["spec"] = map[string]any{"cidr": prefix + ".0/24", "gateway": prefix + ".1"}
	n.SetAnnotations(map[string]string{})
	applied, err := n.MarshalJSON()
	if err != nil {
		panic(err) // it consists of maps and strings
	}
	n.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: string(applied)})
	return n
}

func sampleManifest(path string) (*unstructured.Unstructured, error) {
	data, err := os.ReadFile(filepath.Join(samplesFolder, path))
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, yaml.Unmarshal(data, &obj.Object)
}

// used is the memory of an idle controller process: the live heap in bytes and RssAnon in MiB.
type used struct {
	Heap, Resident float64
}

// reporter is compiled into the otherwise unmodified programs. On a signal it collects garbage, returns free
// memory to the system, and prints the live heap.
const reporter = `package main

import (
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

func init() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		for range signals {
			runtime.GC()
			debug.FreeOSMemory()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			println("live heap", m.HeapAlloc)
		}
	}()
}
`

// buildSample compiles a program with the reporter.
func (l *lab) buildSample(ctx context.Context, pkg string) (string, error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return "", err
	}
	source, overlay := filepath.Join(l.dir, "reporter.go"), filepath.Join(l.dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, pkg,
		"reporter.go"): source}})
	if err != nil {
		return "", err
	}
	program := filepath.Join(l.dir, "sample-"+filepath.Base(pkg))
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", program, pkg)
	build.Dir, build.Stderr = root, os.Stderr
	return program, errors.Join(os.WriteFile(source, []byte(reporter), 0o600), os.WriteFile(overlay, replace, 0o600),
		build.Run())
}

// runSample runs a program until it has created all networks, and then measures its memory.
func (s *server) runSample(ctx context.Context, pkg string) (u used, err error) {
	program, err := s.lab.buildSample(ctx, pkg)
	if err != nil {
		return u, err
	}
	kubeconfig := filepath.Join(s.lab.dir, "sample.kubeconfig")
	if err := writeKubeconfig(kubeconfig, s.config); err != nil {
		return u, err
	}
	command := exec.CommandContext(ctx, program, "--kubeconfig", kubeconfig)
	output, err := command.StderrPipe()
	if err != nil {
		return u, err
	}
	if err := command.Start(); err != nil {
		return u, err
	}
	u, err = measureSample(command, bufio.NewScanner(output))
	err = errors.Join(err, command.Process.Signal(syscall.SIGTERM))
	_, drained := io.Copy(io.Discard, output)
	if err = errors.Join(err, drained, command.Wait()); err != nil {
		return u, fmt.Errorf("%s: %w", command, err)
	}
	fmt.Fprintf(os.Stderr, "%s: live heap %.1f MiB, RssAnon %.1f MiB\n", pkg, u.Heap/(1<<20), u.Resident)
	return u, nil
}

// measureSample waits until a program has logged the creation of the last network, and measures its memory.
func measureSample(command *exec.Cmd, output *bufio.Scanner) (u used, err error) {
	for made := 0; made < many && output.Scan(); {
		if strings.Contains(output.Text(), "[Neutron] Created") {
			made++
		}
	}
	if err := command.Process.Signal(syscall.SIGUSR1); err != nil {
		return u, err
	}
	for output.Scan() {
		if n, _ := fmt.Sscanf(output.Text(), "live heap %g", &u.Heap); n == 1 {
			u.Resident, err = process(command.Process.Pid).anonymousMemory()
			return u, err
		}
	}
	return u, fmt.Errorf("the program ended too early: %w", output.Err())
}
