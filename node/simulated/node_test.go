package simulated_test

import (
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/node/simulated"
)

func TestNodesRegisterAsSimulated(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		n := bowlinetest.Wait(t, p, "", "node-1", func(*corev1.Node) bool { return true })
		if _, role := n.Labels["node-role.kubernetes.io/simulated"]; !role ||
			n.Labels[simulated.Prefix+"node"] != "true" {
			t.Errorf("got labels %v, want the simulated role and label", n.Labels)
		}
		if v := n.Status.NodeInfo.KubeletVersion; v != "simulated" {
			t.Errorf("got kubelet version %s, want simulated", v)
		}
		ready := n.Status.Conditions[len(n.Status.Conditions)-1]
		if ready.Type != corev1.NodeReady || ready.Status != corev1.ConditionTrue || ready.Reason != "KubeletReady" {
			t.Errorf("got last condition %+v, want Ready", ready)
		}
		if n.Spec.PodCIDR != "10.128.1.0/24" || n.Status.Addresses[0].Address != "172.24.0.2" ||
			n.Status.Allocatable.Pods().Value() != 110 {
			t.Errorf("got node %+v, want the second pod network and address, and 110 pods", n)
		}
	}, nodes(2, 0))
}

// renewed returns when the lease of a node was last renewed.
func renewed(t *testing.T, p *bowlinetest.Plane, name string) time.Time {
	t.Helper()
	lease := bowlinetest.Wait(t, p, corev1.NamespaceNodeLease, name, func(*coordinationv1.Lease) bool { return true })
	return lease.Spec.RenewTime.Time
}

func TestDeadNodesStopRenewingTheirLeases(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		for range 5 {
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if age := time.Since(renewed(t, p, "node-0")); age > 10*time.Second {
				t.Errorf("live node: got a lease of age %s, want at most 10s", age)
			}
		}
		die := func(patch string) {
			nodes := bowlinetest.Client[*corev1.Node](t, p)
			if _, err := nodes.Patch(t.Context(), "", "node-0", "", types.MergePatchType, []byte(patch),
				metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		die(`{"metadata":{"annotations":{"simulated.bowline.dev/dead":"true"}}}`)
		if age := time.Since(renewed(t, p, "node-0")); age < time.Minute {
			t.Errorf("dead node: got a lease of age %s, want at least 1m", age)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: corev1.PodSpec{
			NodeName: "node-0", Containers: []corev1.Container{{Name: "web", Image: "nginx"}},
		}}
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if pod, err := pods.Get(t.Context(), "default", "web"); err != nil || pod.Status.Phase != corev1.PodPending {
			t.Errorf("pod on a dead node: got phase %s (%v), want Pending", pod.Status.Phase, err)
		}
		die(`{"metadata":{"annotations":null}}`)
		if age := time.Since(renewed(t, p, "node-0")); age > 10*time.Second {
			t.Errorf("recovered node: got a lease of age %s, want at most 10s", age)
		}
		if pod, err := pods.Get(t.Context(), "default", "web"); err != nil || pod.Status.Phase != corev1.PodRunning {
			t.Errorf("pod on a recovered node: got phase %s (%v), want Running", pod.Status.Phase, err)
		}
	}, nodes(1, 0))
}

// The minimum duration of a lease is one second, however short the renewal interval is.
func TestLeasesMayBeRenewedEveryTenthOfASecond(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		start := time.Now()
		time.Sleep(time.Second)
		synctest.Wait()
		if at := renewed(t, p, "node-0"); at.Sub(start) < 900*time.Millisecond {
			t.Errorf("got the last renewal %s after the start, want at least 900ms", at.Sub(start))
		}
	}, nodes(1, 100*time.Millisecond))
}

func TestDeletedNodesAreNotRegisteredAgain(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		bowlinetest.Wait(t, p, "", "node-0", func(*corev1.Node) bool { return true })
		if err := bowlinetest.Client[*corev1.Node](t, p).Delete(t.Context(), "", "node-0",
			metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		bowlinetest.WaitForDeletion[*corev1.Node](t, p, "", "node-0")
	}, nodes(2, 0))
}

// A pod that was deleted by force may still be running when a new pod of its name is created.
func TestPodsMayBeRecreatedAfterForcedDeletion(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "default", Annotations: map[string]string{simulated.Prefix + "stop": "5s"},
		}, Spec: corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{{Name: "web", Image: "nginx"}}}}
		running := func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning }
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		bowlinetest.Wait(t, p, "default", "web", running)
		now := int64(0)
		if err := pods.Delete(t.Context(), "default", "web",
			metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Fatal(err)
		}
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		bowlinetest.Wait(t, p, "default", "web", running)
		if waited := time.Since(start); waited != 5*time.Second {
			t.Errorf("got the next pod running after %s, want 5s, when the first one has ended", waited)
		}
	}, nodes(1, 0))
}
