package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// testKit measures the start of a test in a separate process, for all tests after the first one.
func testKit() measurement {
	return measurement{
		figures: []figure{
			{"each next bowlinetest.Start() to its first create done", milliseconds, 5},
			{"each next bowlinetest.Start() with a TLS socket, to its first create done", milliseconds, 5},
			{"each Plane.Fork() for a subtest to its first create done", milliseconds, 2},
		},
		starts: true,
		run: func(ctx context.Context, _ *lab) ([]reading, error) {
			self, err := os.Executable()
			if err != nil {
				return nil, err
			}
			child := exec.CommandContext(ctx, self, childTestKit)
			child.Stderr = os.Stderr
			out, err := child.Output()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", child, err)
			}
			var medians []float64
			if err := json.Unmarshal(out, &medians); err != nil {
				return nil, err
			}
			return []reading{{Value: medians[0]}, {Value: medians[1]}, {Value: medians[2]}}, nil
		},
	}
}

// testStub implements testing.TB outside of go test. A failure panics.
type testStub struct {
	testing.TB
	cleanups []func()
}

func (t *testStub) Name() string              { return "bench" }
func (t *testStub) Helper()                   {}
func (t *testStub) Output() io.Writer         { return io.Discard }
func (t *testStub) Cleanup(f func())          { t.cleanups = append(t.cleanups, f) }
func (t *testStub) Fatal(arguments ...any)    { panic(fmt.Sprint(arguments...)) }
func (t *testStub) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (t *testStub) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func (t *testStub) end() {
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
}

// measureTestKit prints the medians in milliseconds as JSON.
func measureTestKit(context.Context, []string) error {
	whole := &testStub{}
	defer whole.end()
	plane := bowlinetest.Start(whole)
	var medians []float64
	for _, start := range []func(*testStub) *rest.Config{
		func(t *testStub) *rest.Config { return bowlinetest.Start(t).RESTConfig() },
		func(t *testStub) *rest.Config { return bowlinetest.Start(t, bowlinetest.Socket()).SocketConfig(t) },
		func(t *testStub) *rest.Config { return plane.Fork(t).RESTConfig() },
	} {
		var took []float64
		for range 1 + 2*nextStarts {
			t := &testStub{}
			begin := time.Now()
			firstCreate(start(t))
			took = append(took, float64(time.Since(begin).Microseconds())/1000)
			t.end()
		}
		took = took[1:] // the first includes the start of the process
		slices.Sort(took)
		medians = append(medians, took[len(took)/2])
	}
	return json.NewEncoder(os.Stdout).Encode(medians)
}

func firstCreate(config *rest.Config) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "first"}}
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Create(context.Background(), object,
		metav1.CreateOptions{})
	if err != nil {
		panic(err)
	}
}
