package statefulset

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podbackoff"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podset"
)

// hugeSet returns a set with parallel pod management and the largest size, and a function that decides about it.
func hugeSet() (set *appsv1.StatefulSet, observed func(revisions ...*appsv1.ControllerRevision) Observed) {
	set = &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "web"}}
	set.Spec.Replicas, set.Spec.PodManagementPolicy = new(int32(math.MaxInt32)), appsv1.ParallelPodManagement
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
	set.Spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
	return set, func(revisions ...*appsv1.ControllerRevision) Observed {
		return Observed{podset.Observed[*appsv1.StatefulSet]{
			Set: set, Revisions: revisions, Backoff: podbackoff.New(), Now: time.Now(),
			Pod:      func(string) *corev1.Pod { return nil },
			Revision: func(string) *appsv1.ControllerRevision { return nil },
		}, func(string) *corev1.PersistentVolumeClaim { return nil }}
	}
}

// The last ordinals of the largest set are those of its own pods, which it does not release.
func TestLargestOrdinals(t *testing.T) {
	t.Parallel()
	set, observed := hugeSet()
	set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: math.MaxInt32}
	s := observed()
	for _, ordinal := range []int{math.MaxInt32, math.MaxInt32 + 1, 2*math.MaxInt32 - 1, 2 * math.MaxInt32} {
		s.Pods = append(s.Pods, newPod(set, &set.Spec.Template, "r", ordinal))
	}
	plan, err := Decide(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := planned(plan.Claim); strings.Contains(got, "release") {
		t.Errorf("got actions %q, want no pod released", got)
	}
	if got := planned(plan.Apply); strings.Contains(got, "create pod/web-2147483647") ||
		!strings.Contains(got, "delete pod/web-4294967294") {
		t.Errorf("got actions %q, want the pod after the last one deleted and no existing one created", got)
	}
}

// A client has written a revision from which no pod can be created. The decision fails at the first pod.
func TestUndecodableRevisionOfTheLargestSet(t *testing.T) {
	t.Parallel()
	set, observed := hugeSet()
	set.Status.CurrentRevision = "broken"
	set.Spec.UpdateStrategy.RollingUpdate =
		&appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(math.MaxInt32))}
	broken := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "broken", UID: "broken",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, kind)},
		Labels:          set.Spec.Selector.MatchLabels}, Revision: math.MaxInt64}
	if plan, err := Decide(observed(broken)); err == nil {
		t.Errorf("got actions %q, want an error", planned(plan.Apply))
	}
}

// The largest set has as many pods as one owner may have. It gets no more, a condition and an event report the limit,
// and a decision takes no longer than the existing pods require. Failed pods are still replaced.
func TestLargestSetAtTheLimit(t *testing.T) {
	t.Parallel()
	for _, policy := range []appsv1.PodManagementPolicyType{appsv1.ParallelPodManagement, appsv1.OrderedReadyPodManagement} {
		set, observed := hugeSet()
		set.Spec.PodManagementPolicy = policy
		s := observed()
		for i := range podlimit.MaxPods + 1 {
			pod := newPod(set, &set.Spec.Template, "r", 2*i) // every second pod is missing
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{
				Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
			if i == podlimit.MaxPods {
				pod.Status.Phase = corev1.PodFailed
			}
			s.Pods = append(s.Pods, pod)
		}
		plan, err := Decide(s)
		if err != nil {
			t.Fatal(err)
		}
		parallel := policy == appsv1.ParallelPodManagement
		if got := planned(plan.Apply); strings.Contains(got, "create pod") ||
			strings.Contains(got, "delete pod/web-40000") != parallel ||
			!strings.Contains(got, "event FailedCreate on web: Error creating: at most 20000 pods of one owner may exist") {
			t.Errorf("%s: got actions %.300q, want the failed pod deleted: %t, an event, and no pod created", policy, got,
				parallel)
		}
		if c := plan.Status.Conditions; len(c) != 1 || c[0].Reason != podlimit.Reason {
			t.Errorf("%s: got conditions %v, want one", policy, c)
		}
		// the condition is set: there is no further event
		set.Status.Conditions = plan.Status.Conditions
		if plan, err = Decide(s); err != nil || strings.Contains(planned(plan.Apply), "event FailedCreate") {
			t.Errorf("%s: got actions %.300q (%v), want no further event", policy, planned(plan.Apply), err)
		}
		// one pod is missing, and the limit permits it
		s.Pods, set.Spec.Replicas = s.Pods[1:3], new(int32(5))
		set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 1}
		if plan, err = Decide(s); err != nil || !strings.Contains(planned(plan.Apply), "create pod/web-1") ||
			len(plan.Status.Conditions) != 0 {
			t.Errorf("%s: got actions %.300q, conditions %v (%v), want a new pod and no condition", policy,
				planned(plan.Apply), plan.Status.Conditions, err)
		}
	}
}

// Each pod of a set with many claims counts as many objects.
func TestClaimsCountTowardsTheLimit(t *testing.T) {
	t.Parallel()
	set, observed := hugeSet()
	for i := range 499 {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%d", i)}}
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, claim)
	}
	plan, err := Decide(observed())
	if err != nil {
		t.Fatal(err)
	}
	creates, ok := plan.Apply[len(plan.Apply)-1].(action.Parallel)
	if want := podlimit.MaxRecent / 500; !ok || len(creates) != want {
		t.Errorf("got %d pods with their claims, want %d", len(creates), want)
	}
}
