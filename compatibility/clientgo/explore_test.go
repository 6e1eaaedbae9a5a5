package clientgo

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// The logs of client-go during faults are not relevant to the tests.
func init() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) }

// declareWidgets creates two widgets and changes one of them.
func declareWidgets(ctx context.Context, config *rest.Config) error {
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	widgets := c.Resource(widgetsResource).Namespace(ns)
	for _, name := range []string{"a", "b"} {
		w := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": int64(2)},
		}}
		if _, err := widgets.Create(ctx, w, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	time.Sleep(5 * time.Second)
	_, err = widgets.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"size":3}}`), metav1.PatchOptions{})
	return err
}

// TestSampleControllerWithFaults checks that a controller of informers and a work queue reaches the
// same final state after any single fault, and never reports a size before it is reached.
func TestSampleControllerWithFaults(t *testing.T) {
	t.Parallel()
	r := bowlinetest.Explore(t, bowlinetest.Scenario{
		Options:   []bowlinetest.Option{bowlinetest.CRDs("../plane/widgets.yaml")},
		Processes: []bowlinetest.Process{{Name: "sample", Run: runSample}},
		Act:       declareWidgets,
		Invariants: []func(bowlinetest.State) error{func(s bowlinetest.State) error {
			for _, w := range s.Kind("Widget") {
				if _, reported, _ := unstructured.NestedInt64(w.Object, "status", "size"); reported &&
					s.Find("Deployment", ns, w.GetName()) == nil {
					return fmt.Errorf("widget %s reports a size before its deployment exists", w.GetName())
				}
			}
			return nil
		}},
	})
	// How many runs of client-go reach their fault point depends on the order of its goroutines.
	if reached := r.Tried() - len(r.Unreached); reached < 50 {
		t.Errorf("got %d fault points, want at least 50; these runs did not reach theirs: %q", reached, r.Unreached)
	}
}
