package daemonset_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/daemonset"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsCreateOnePodPerNode(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, scenario(replacing, trial.Of(daemonset.Add).Once()))
}

func TestTwoControllersCreateOnePodPerNode(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, scenario(replacing, trial.Of(daemonset.Add).Twice()))
}

func TestFaultsLeaveNoNodeWithoutPodDuringSurge(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, scenario(surging, trial.Of(daemonset.Add).Twice()))
}

// strategy is a patch that sets an update strategy, and the bounds that must hold with it.
type strategy struct {
	patch string
	// perNode and all limit the pods of one node and of all nodes. ready is the minimum of ready pods once
	// all three have been ready.
	perNode, all, ready int
}

var (
	replacing = strategy{`{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":1}}}}`, 1, 3, 2}
	surging   = strategy{`{"spec":{"updateStrategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}}}}`, 2, 4, 3}
)

// scenario changes the template of a set on three nodes and changes it back, and injects faults in between.
func scenario(s strategy, processes []bowlinetest.Process) bowlinetest.Scenario {
	node := func(name string) client.Object { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	return bowlinetest.Scenario{
		Options: []bowlinetest.Option{
			trial.Alone(), bowlinetest.Objects(node("a"), node("b"), node("c")), bowlinetest.Manage(trial.Running),
		},
		Setup:      ready,
		Processes:  processes,
		Act:        s.act,
		Settle:     3 * time.Minute,
		Invariants: []func(bowlinetest.State) error{s.holds},
		Compare:    byNode,
		Skip:       trial.Events,
		Budget:     30,
	}
}

// ready removes the taints that nodes have until they are ready.
func ready(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	nodes := client.For[*corev1.Node](c)
	all, err := nodes.List(ctx, "", metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range all.Items {
		if _, err := nodes.Patch(ctx, "", node.Name, "", types.MergePatchType, []byte(`{"spec":{"taints":null}}`),
			metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// act creates the set and applies the patches as a user would.
func (s strategy) act(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	sets := client.For[*appsv1.DaemonSet](c)
	labels := map[string]string{"app": "agent"}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "default"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	if _, err := sets.Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, patch := range []string{
		s.patch,
		`{"spec":{"template":{"spec":{"containers":[{"name":"agent","image":"agent:2"}]}}}}`,
		`{"spec":{"template":{"spec":{"containers":[{"name":"agent","image":"agent:1"}]}}}}`,
	} {
		if _, err := sets.Patch(ctx, "default", "agent", "", types.StrategicMergePatchType, []byte(patch),
			metav1.PatchOptions{}); err != nil {
			return err
		}
		time.Sleep(time.Minute) // longer than any delay, so that the controller observes each template
	}
	return nil
}

// holds fails if one node or all nodes together have more pods than permitted, or too few pods are ready.
func (s strategy) holds(state bowlinetest.State) error {
	on, all, ready := map[string]int{}, 0, 0
	for _, pod := range state.Kind("Pod") {
		all++
		node := targetNode(pod)
		if on[node]++; on[node] > s.perNode {
			return fmt.Errorf("got %d pods for node %s, want at most %d", on[node], node, s.perNode)
		}
		if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase == "Running" {
			ready++
		}
	}
	if all > s.all {
		return fmt.Errorf("got %d pods, want at most %d", all, s.all)
	}
	if set := state.Find("DaemonSet", "default", "agent"); set != nil && ready < s.ready {
		if was, _, _ := unstructured.NestedInt64(set.Object, "status", "numberReady"); was == 3 {
			return fmt.Errorf("got %d ready pods, want at least %d", ready, s.ready)
		}
	}
	return nil
}

// byNode renames pods after their nodes, since their names are random. It removes the template generation,
// because a pod may remain from the first use of the template.
func byNode(s bowlinetest.State) bowlinetest.State {
	for _, pod := range s.Kind("Pod") {
		pod.SetGenerateName("")
		pod.SetName("pod of " + targetNode(pod))
		labels := pod.GetLabels()
		delete(labels, "pod-template-generation")
		pod.SetLabels(labels)
	}
	return s
}

// targetNode returns the node selector terms that restrict a pod to one node.
func targetNode(pod *unstructured.Unstructured) string {
	terms, _, _ := unstructured.NestedSlice(pod.Object, "spec", "affinity", "nodeAffinity",
		"requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	return fmt.Sprint(terms)
}
