package podgc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/podgc"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsDeleteNoManagedPods(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, loseNodesScenario(trial.Of(retainTwo).Once()))
}

func TestTwoCollectorsDeleteNoManagedPods(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, loseNodesScenario(trial.Of(retainTwo).Twice()))
}

// retainTwo adds a controller that retains two ended pods.
func retainTwo(m *controller.Manager) *controller.Controller { return podgc.AddWithLimit(m, 2) }

// loseNodesScenario is the scenario of nodes that are deleted and recreated, and pods that end.
func loseNodesScenario(processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  processes,
		Act:        loseNodes,
		Settle:     3 * time.Minute,
		Invariants: []func(bowlinetest.State) error{podsOfNodesExist, endedAreRetained},
		Budget:     40,
	}
}

// outOfService adds the taint of a node that an administrator declares dead; inService removes it.
const (
	outOfService = `{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"}]}}`
	inService    = `{"spec":{"taints":null}}`
)

// fixture accesses the objects of a scenario.
type fixture struct {
	nodes client.Resource[*corev1.Node]
	pods  client.Resource[*corev1.Pod]
}

// loseNodes deletes the node "away", deletes and recreates "back", and declares "dead" out of service. It
// also declares "mended" out of service, but revokes that before any of its pods is deleted.
func loseNodes(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	f := fixture{client.For[*corev1.Node](c), client.For[*corev1.Pod](c)}
	for _, name := range []string{"stays", "away", "back", "dead", "mended"} {
		if err := errors.Join(f.run(ctx, "on-"+name, name), f.addNode(ctx, name)); err != nil {
			return err
		}
	}
	time.Sleep(5 * time.Second)
	if err := errors.Join(
		f.nodes.Delete(ctx, "", "away", metav1.DeleteOptions{}),
		f.nodes.Delete(ctx, "", "back", metav1.DeleteOptions{}),
		f.taint(ctx, "dead", outOfService), f.taint(ctx, "mended", outOfService),
	); err != nil {
		return err
	}
	time.Sleep(10 * time.Second)
	if err := errors.Join(
		f.addNode(ctx, "back"), f.taint(ctx, "mended", inService),
		f.pods.Delete(ctx, "default", "on-mended", metav1.DeleteOptions{}),
		f.pods.Delete(ctx, "default", "on-dead", metav1.DeleteOptions{}),
	); err != nil {
		return err
	}
	for i := range 4 {
		time.Sleep(2 * time.Second)
		name := fmt.Sprintf("ended-%d", i)
		if err := errors.Join(f.run(ctx, name, "stays"), f.status(ctx, name, corev1.PodSucceeded)); err != nil {
			return err
		}
	}
	return nil
}

func (f fixture) addNode(ctx context.Context, name string) error {
	_, err := f.nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

func (f fixture) taint(ctx context.Context, node, patch string) error {
	_, err := f.nodes.Patch(ctx, "", node, "", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// run creates a running pod on a node.
func (f fixture) run(ctx context.Context, name, node string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	if _, err := f.pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	return f.status(ctx, name, corev1.PodRunning)
}

func (f fixture) status(ctx context.Context, pod string, phase corev1.PodPhase) error {
	patch := fmt.Appendf(nil, `{"status":{"phase":%q}}`, phase)
	_, err := f.pods.PatchStatus(ctx, "default", pod, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// podsOfNodesExist fails if a pod was deleted or failed although its node exists. Each pod is created before its
// node.
func podsOfNodesExist(s bowlinetest.State) error {
	for _, name := range []string{"stays", "back", "mended"} {
		if s.Find("Node", "", name) == nil {
			continue
		}
		pod := s.Find("Pod", "default", "on-"+name)
		if pod == nil {
			return fmt.Errorf("pod of the existing node %s was deleted", name)
		}
		if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase == string(corev1.PodFailed) {
			return fmt.Errorf("pod of the existing node %s has failed", name)
		}
	}
	return nil
}

// endedAreRetained fails if fewer ended pods exist than are retained. ended-3 is created after ended-2 has ended.
func endedAreRetained(s bowlinetest.State) error {
	ended := 0
	for _, pod := range s.Kind("Pod") {
		if phase, _, _ := unstructured.NestedString(pod.Object, "status",
			"phase"); phase == string(corev1.PodSucceeded) {
			ended++
		}
	}
	if s.Find("Pod", "default", "ended-2") != nil && s.Find("Pod", "default", "ended-3") != nil && ended < 2 {
		return fmt.Errorf("got %d ended pods, want at least 2", ended)
	}
	return nil
}
