package nodelifecycle

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func TestEvictionTimes(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(noon)
	taint := func(key, value string, effect corev1.TaintEffect) corev1.Taint {
		return corev1.Taint{Key: key, Value: value, Effect: effect, TimeAdded: &at}
	}
	sudden := corev1.Taint{Key: "k", Effect: "NoExecute"} // without timeAdded: observed ten seconds after noon
	for7 := []corev1.Toleration{{Key: "k", Operator: "Exists", TolerationSeconds: ptr.To[int64](7)}}
	const stay = -1
	for _, c := range []struct {
		name        string
		taints      []corev1.Taint
		tolerations []corev1.Toleration
		after       time.Duration // from noon
	}{
		{"no taint", nil, nil, stay},
		{"NoSchedule taint", []corev1.Taint{taint("k", "", "NoSchedule")}, nil, stay},
		{"tolerated forever", []corev1.Taint{taint("k", "", "NoExecute")},
			[]corev1.Toleration{{Key: "k", Operator: "Exists"}}, stay},
		{"all taints tolerated", []corev1.Taint{taint("k", "v", "NoExecute")},
			[]corev1.Toleration{{Operator: "Exists"}}, stay},
		{"not tolerated", []corev1.Taint{taint("k", "", "NoExecute")}, nil, 0},
		{"another value", []corev1.Taint{taint("k", "v", "NoExecute")}, []corev1.Toleration{{Key: "k", Value: "w"}}, 0},
		{"tolerated for seconds", []corev1.Taint{taint("k", "", "NoExecute")},
			[]corev1.Toleration{{Key: "k", Operator: "Exists", TolerationSeconds: ptr.To[int64](7)}}, 7 * time.Second},
		{"shortest of two times", []corev1.Taint{taint("a", "", "NoExecute"), taint("b", "", "NoExecute")},
			[]corev1.Toleration{
				{Key: "a", Operator: "Exists", TolerationSeconds: ptr.To[int64](7)},
				{Key: "b", Operator: "Exists", TolerationSeconds: ptr.To[int64](3)},
			}, 3 * time.Second},
		{"first matching toleration", []corev1.Taint{taint("k", "", "NoExecute")}, []corev1.Toleration{
			{Key: "k", Operator: "Exists"}, {Key: "k", Operator: "Exists", TolerationSeconds: ptr.To[int64](3)},
		}, stay},
		{"taint without timeAdded", []corev1.Taint{sudden}, for7, 17 * time.Second},
		{"negative seconds", []corev1.Taint{taint("a", "", "NoExecute")},
			[]corev1.Toleration{{Key: "a", Operator: "Exists", TolerationSeconds: ptr.To[int64](-1)}}, 0},
		{"as many seconds as possible", []corev1.Taint{taint("a", "", "NoExecute")},
			[]corev1.Toleration{{Key: "a", Operator: "Exists", TolerationSeconds: ptr.To[int64](math.MaxInt64)}},
			math.MaxInt64 / time.Second * time.Second},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: c.tolerations}}
		pod.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
		until, leaves := EvictAt(pod, c.taints, seen)
		if leaves != (c.after != stay) || leaves && c.after > 0 && until.Sub(noon) != c.after || leaves &&
			c.after == 0 && until.After(noon) {
			t.Errorf("%s: got eviction %t at %s, want %s after noon", c.name, leaves, until, c.after)
		}
	}
}

// seen returns when a taint was added; one without timeAdded was observed ten seconds after noon.
func seen(t *corev1.Taint) time.Time {
	if t.TimeAdded == nil {
		return noon.Add(10 * time.Second)
	}
	return t.TimeAdded.Time
}

// For a pod that is bound to a node with an old taint, tolerationSeconds start with the binding.
func TestTolerationStartsWithBinding(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(noon.Add(-time.Hour))
	taints := []corev1.Taint{{Key: "k", Effect: "NoExecute", TimeAdded: &at}}
	pod := &corev1.Pod{}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: "Exists", TolerationSeconds: ptr.To[int64](7)}}
	pod.CreationTimestamp = metav1.NewTime(noon)
	if until, leaves := EvictAt(pod, taints, seen); !leaves || until.Sub(noon) != 7*time.Second {
		t.Errorf("pod created at noon: got eviction after %s, want 7s", until.Sub(noon))
	}
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: "True", LastTransitionTime: metav1.NewTime(noon.Add(time.Minute)),
	}}
	if until, leaves := EvictAt(pod, taints, seen); !leaves || until.Sub(noon) != 67*time.Second {
		t.Errorf("pod bound a minute after noon: got eviction after %s, want 1m7s", until.Sub(noon))
	}
}

func TestTaintsFollowConditions(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{}
	node.Spec.Taints = []corev1.Taint{{Key: "mine", Effect: "NoExecute"},
		{Key: corev1.TaintNodeNotReady, Effect: "NoSchedule"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: "True"},
		{Type: corev1.NodeDiskPressure, Status: "True"}}
	node.Spec.Unschedulable = true
	var got []string
	for _, taint := range Taints(node, noon) {
		got = append(got, taint.ToString())
	}
	want := []string{"mine:NoExecute", "node.kubernetes.io/disk-pressure:NoSchedule",
		"node.kubernetes.io/unschedulable:NoSchedule"}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got taints %v, want %v", got, want)
	}
	silent := &corev1.Node{}
	if taints := Taints(silent, noon); len(taints) != 1 || taints[0].Effect != corev1.TaintEffectNoSchedule {
		t.Errorf("node without a Ready condition: got taints %v, want one with NoSchedule", taints)
	}
}
