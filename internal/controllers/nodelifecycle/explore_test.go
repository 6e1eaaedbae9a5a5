package nodelifecycle_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	"github.com/bowline-dev/bowline/internal/controllers/nodelifecycle"
	"github.com/bowline-dev/bowline/internal/trial"
	"github.com/bowline-dev/bowline/node/simulated"
)

const dead = simulated.Prefix + "dead"

// nodes adds node-0, which fails and recovers, and node-1, which does not fail.
func nodes(m *controller.Manager) error {
	simulated.Add(m, simulated.Options{Nodes: 2})
	return nil
}

// tolerantPod returns a pod that tolerates an unreachable node for some seconds.
func tolerantPod(name, node string, seconds int64) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}}
	pod.Spec.NodeName = node
	pod.Spec.TerminationGracePeriodSeconds = new(int64(1))
	pod.Spec.Tolerations = []corev1.Toleration{{
		Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: &seconds,
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "web"}}
	return pod
}

// failNode makes node-0 fail for the given time plus half a minute.
func failNode(downtime time.Duration) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		c, err := client.New(config)
		if err != nil {
			return err
		}
		for _, name := range []string{"node-0", "node-1"} {
			for _, seconds := range []int64{0, 60, 3600} {
				pod := tolerantPod(fmt.Sprintf("%s-after-%d", name, seconds), name, seconds)
				if _, err := client.For[*corev1.Pod](c).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
					return err
				}
			}
		}
		nodes := client.For[*corev1.Node](c)
		for _, value := range []string{`"true"`, "null"} {
			time.Sleep(30 * time.Second)
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, dead, value)
			if _, err := nodes.Patch(ctx, "", "node-0", "", types.MergePatchType, patch,
				metav1.PatchOptions{}); err != nil {
				return err
			}
			time.Sleep(downtime)
		}
		return nil
	}
}

// spared fails if the live node is reported as silent, or its pods are evicted or marked not ready, or if a
// pod is evicted that tolerates the taint for longer.
func spared(s bowlinetest.State) error {
	if n := s.Find("Node", "", "node-1"); n != nil {
		taints, _, _ := unstructured.NestedSlice(n.Object, "spec", "taints")
		if strings.Contains(fmt.Sprint(taints), corev1.TaintNodeUnreachable) || condition(n, "Ready") == "Unknown" {
			return fmt.Errorf("live node-1: got taints %v, want none for an unreachable node", taints)
		}
	}
	for _, pod := range s.Kind("Pod") {
		if leaves(pod) && (strings.HasPrefix(pod.GetName(), "node-1") || strings.HasSuffix(pod.GetName(), "3600")) {
			return fmt.Errorf("pod %s is evicted", pod.GetName())
		}
		if strings.HasPrefix(pod.GetName(), "node-1") && condition(pod, "Ready") == "False" &&
			condition(pod, "Initialized") == "True" {
			return fmt.Errorf("pod %s of the live node is not ready", pod.GetName())
		}
	}
	return nil
}

// leaves reports whether a pod is being evicted.
func leaves(pod *unstructured.Unstructured) bool {
	return pod.GetDeletionTimestamp() != nil || condition(pod, string(corev1.DisruptionTarget)) != ""
}

// condition returns the status of a condition, empty if there is none.
func condition(obj *unstructured.Unstructured, kind string) string {
	all, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range all {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			return fmt.Sprint(c["status"])
		}
	}
	return ""
}

// typeOf returns the type of a condition.
func typeOf(condition any) string {
	kind, _, _ := unstructured.NestedString(condition.(map[string]any), "type")
	return kind
}

// anyOrder removes what depends on timing: the addresses of pods, and the order of conditions, since a node's
// silence may be detected only after a pod's time is over.
func anyOrder(s bowlinetest.State) bowlinetest.State {
	for _, pod := range s.Kind("Pod") {
		all, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
		slices.SortFunc(all, func(a, b any) int { return strings.Compare(typeOf(a), typeOf(b)) })
		if len(all) > 0 {
			_ = unstructured.SetNestedSlice(pod.Object, all, "status", "conditions")
		}
		for _, field := range []string{"podIP", "podIPs"} {
			unstructured.RemoveNestedField(pod.Object, "status", field)
		}
	}
	return s
}

// scenario delays a controller by longer than a node may be silent.
func scenario(downtime time.Duration, processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone(), bowlinetest.Manage(nodes)},
		Processes:  processes,
		Act:        failNode(downtime),
		Settle:     5 * time.Minute,
		Lag:        80 * time.Second,
		Invariants: []func(bowlinetest.State) error{spared},
		Compare:    anyOrder,
		Skip:       trial.Events,
		Budget:     30,
	}
}

func TestFaultsEvictNoPodsOfLiveNodes(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, scenario(5*time.Minute, trial.Of(nodelifecycle.Add).Once()))
}

// The node recovers 15 seconds before the pods have to leave that tolerate an unreachable node for a minute.
func TestRecoveredNodesKeepTheirPods(t *testing.T) {
	t.Parallel()
	s := scenario(time.Minute, trial.Of(nodelifecycle.Add).Twice())
	s.Invariants = append(s.Invariants, func(s bowlinetest.State) error {
		pod := s.Find("Pod", metav1.NamespaceDefault, "node-0-after-60")
		if !isDead(s) && pod != nil && leaves(pod) {
			return fmt.Errorf("pod %s of the recovered node is evicted", pod.GetName())
		}
		return nil
	})
	bowlinetest.Explore(t, s)
}

// isDead reports whether node-0 is failed.
func isDead(s bowlinetest.State) bool {
	n := s.Find("Node", "", "node-0")
	return n != nil && n.GetAnnotations()[dead] == "true"
}

func TestTwoControllersEvictOnlyPodsOfDeadNodes(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, scenario(5*time.Minute, trial.Of(nodelifecycle.Add).Twice()))
}
