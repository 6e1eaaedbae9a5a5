package statefulset

import (
	"math"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/podbackoff"
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
