package podlimit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/internal/trial"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// podsAged returns pods of an age and in a phase.
func podsAged(count int, age time.Duration, phase corev1.PodPhase) []*corev1.Pod {
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
	pod.CreationTimestamp = metav1.NewTime(noon.Add(-age))
	return slices.Repeat([]*corev1.Pod{pod}, count)
}

func TestGrant(t *testing.T) {
	t.Parallel()
	const most = podlimit.MaxPods
	for _, c := range []struct {
		name    string
		pods    []*corev1.Pod
		objects int
		missing int
		want    int
		wait    time.Duration
		refusal string
	}{
		{"no pods", nil, 1, 2000, 2000, 0, ""},
		{"more than at once", nil, 1, 2001, 2000, 0, "created within"},
		{"recent pods", podsAged(1990, time.Second, corev1.PodPending), 1, 20, 10, 3 * time.Second, "created within"},
		{"recent pods that ended", podsAged(2000, time.Second, corev1.PodFailed), 1, 20, 0, 3 * time.Second,
			"created within"},
		{"older pods", podsAged(2000, podlimit.Window, corev1.PodRunning), 1, 20, 20, 0, ""},
		{"pods from the future", podsAged(2000, -time.Hour, corev1.PodRunning), 1, 20, 20, 0, ""},
		{"almost all pods", podsAged(most-10, time.Hour, corev1.PodRunning), 1, 20, 10, 0, "may exist"},
		{"all pods", podsAged(most, time.Hour, corev1.PodRunning), 1, 20, 0, 0, "may exist"},
		{"more pods", podsAged(2*most, time.Hour, corev1.PodRunning), 1, 1, 0, 0, "may exist"},
		{"pods that ended", podsAged(2*most, time.Hour, corev1.PodSucceeded), 1, 20, 20, 0, ""},
		{"the largest number", nil, 1, 1<<31 - 1, 2000, 0, "may exist"},
		{"with claims", nil, 10, 201, 200, 0, "created within"},
		{"with many claims", nil, 2001, 2, 1, 0, "created within"},
		{"with too many claims", nil, most + 1, 1, 0, 0, "pods and claims of one owner may exist"},
		{"no missing pods", podsAged(most, 0, corev1.PodPending), 1, 0, 0, 0, ""},
		{"too many pods", podsAged(most, 0, corev1.PodPending), 1, -5, 0, 0, ""},
	} {
		usage := podlimit.Count(noon, slices.Values(c.pods))
		usage.Objects = c.objects
		got := usage.Grant(c.missing)
		if got.Pods != c.want || got.Wait != c.wait || (got.Refusal == nil) != (c.refusal == "") ||
			got.Refusal != nil && !strings.Contains(got.Refusal.Error(), c.refusal) {
			t.Errorf("%s: got %d pods, wait %s, refusal %v; want %d, %s, %q", c.name, got.Pods, got.Wait, got.Refusal, c.want,
				c.wait, c.refusal)
		}
	}
}

// An owner that is refused because of the pods of others is decided about again later, since no change of its own
// pods triggers that.
func TestSharedLimitIsCheckedAgain(t *testing.T) {
	t.Parallel()
	usage := podlimit.Count(noon, slices.Values(podsAged(podlimit.MaxPods, time.Hour, corev1.PodRunning)))
	usage.Shared = true
	if got := usage.Grant(1); got.Wait <= 0 || got.Pods != 0 {
		t.Errorf("got %d pods, wait %s; want none, and a wait", got.Pods, got.Wait)
	}
}

// The ReplicaSets of one Deployment share the limits. Other Deployments have limits of their own, and a controller of
// another kind shares none.
func TestReplicaSetsOfOneDeploymentShareTheLimits(t *testing.T) {
	t.Parallel()
	var group podlimit.Group[*appsv1.ReplicaSet]
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		sets := map[string]*appsv1.ReplicaSet{}
		for name, owner := range map[string]metav1.OwnerReference{
			"a": reference("apps/v1", "Deployment", "one"), "b": reference("apps/v1", "Deployment", "one"),
			"c": reference("apps/v1", "Deployment", "two"), "d": reference("example.com/v1", "Deployment", "three"),
			"e": reference("example.com/v1", "Deployment", "three"),
		} {
			set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default",
				OwnerReferences: []metav1.OwnerReference{owner}}}
			set.Spec.Template, set.Spec.Selector = trial.Web(), &metav1.LabelSelector{MatchLabels: trial.Web().Labels}
			made, err := bowlinetest.Client[*appsv1.ReplicaSet](t, p).Create(t.Context(), set, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			sets[name] = made
			pod := pods.New(&made.Spec.Template, made, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), name)
			_, err = bowlinetest.Client[*corev1.Pod](t, p).Create(t.Context(), pod, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second) // until the caches show them
		for name, counted := range map[string]int{"a": 2, "b": 2, "c": 1, "d": 1, "e": 1} {
			usage := group.Usage(sets[name], time.Now())
			if got := podlimit.MaxRecent - usage.Grant(podlimit.MaxPods).Pods; got != counted ||
				usage.Shared != (counted > 1) {
				t.Errorf("ReplicaSet %s: %d pods are counted, shared %t; want %d", name, got, usage.Shared, counted)
			}
		}
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		sets := informer.For[*appsv1.ReplicaSet](m.Informers(), appsv1.SchemeGroupVersion.WithResource("replicasets"))
		group = podlimit.NewGroup(sets, ownership.NewCache[*corev1.Pod](m, pods.Resource),
			schema.GroupKind{Group: "apps", Kind: "Deployment"})
		return nil
	}))
}

// reference returns the reference of an object to its controller, which has its name as its UID.
func reference(apiVersion, kind, name string) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(name), Controller: &yes}
}
