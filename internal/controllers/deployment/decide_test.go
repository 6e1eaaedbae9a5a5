package deployment_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/internal/controllers/deployment"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// A ReplicaSet has been scaled down but still has its pods. The others grow only as far as these pods leave
// room.
func TestScaleUpCountsPodsStillTerminating(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		sets []set
		want string
	}{
		{"one ReplicaSet", []set{{"web:2", 2, 2}}, "web:2 8"},
		{"a terminating old ReplicaSet", []set{{"web:1", 0, 4}, {"web:2", 2, 2}}, "web:2 6"},
		{"during a rollout", []set{{"web:1", 4, 4}, {"web:2", 3, 3}}, "web:1 6, web:2 4"},
		{"during a rollout with terminating pods", []set{{"web:1", 4, 8}, {"web:2", 3, 3}}, "web:1 4, web:2 3"},
	} {
		d := deploymentOf(8)
		if got := sizes(decide(d, c.sets...)); got != c.want {
			t.Errorf("%s: got sizes %q, want %q", c.name, got, c.want)
		}
	}
	if got := sizes(decide(deploymentOf(4), set{"web:1", 4, 8}, set{"web:2", 3, 3})); got != "web:1 3, web:2 3" {
		t.Errorf("scaled down during a rollout: got sizes %q, want the larger ReplicaSet reduced", got)
	}
}

// A Deployment in the midst of a rolling update is changed to the Recreate strategy and scaled. The new size
// is not distributed over the ReplicaSets: the old pods are removed.
func TestRecreateDuringRolloutEndsOldPods(t *testing.T) {
	t.Parallel()
	d := deploymentOf(8)
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	if got := sizes(decide(d, set{"web:1", 3, 3}, set{"web:2", 2, 2})); got != "web:1 0" {
		t.Errorf("got sizes %q, want only the old ReplicaSet scaled to 0", got)
	}
}

// Invalid values in the annotations of a ReplicaSet, as written by other clients, do not stop the rollout.
func TestInvalidAnnotationsAreIgnored(t *testing.T) {
	t.Parallel()
	d := deploymentOf(8)
	d.Status.Replicas = 7
	for _, c := range []struct{ annotation, value, want string }{
		{deployment.RevisionAnnotation, strings.Repeat("a", 3000), "web:1 6, web:2 4"},
		{deployment.HistoryAnnotation, strings.Repeat("1,", 30_000), "web:1 6, web:2 4"},
		{deployment.DesiredAnnotation, "many", "web:1 6, web:2 4"},
		{deployment.MaxAnnotation, "-7", "web:1 6, web:2 4"},
		{deployment.MaxAnnotation, "99999999999", "web:1 6, web:2 4"},
	} {
		s := observed(d, set{"web:1", 4, 4}, set{"web:2", 3, 3})
		for i := range s.Sets {
			s.Sets[i].Annotations[c.annotation] = c.value
		}
		if got := sizes(deployment.Decide(s)); got != c.want {
			t.Errorf("%s %.20s: got sizes %q, want %q", c.annotation, c.value, got, c.want)
		}
	}
}

// A surge that exceeds an int32 counts as a very large one and not as a negative one.
func TestHugeSurgeDoesNotOverflow(t *testing.T) {
	t.Parallel()
	d := deploymentOf(100)
	d.Spec.Strategy.RollingUpdate.MaxSurge = new(intstr.FromString("4294967195%"))
	s := observed(d, set{"web:1", 100, 100})
	s.Sets[0].Annotations[deployment.DesiredAnnotation] = "100"
	if got := sizes(deployment.Decide(s)); got != "web:2 100" {
		t.Errorf("got sizes %q, want all new pods at once", got)
	}
}

// The transition time of the condition is that of the ReplicaSet's condition.
func TestFailureRetainsReplicaSetTransitionTime(t *testing.T) {
	t.Parallel()
	since := metav1.NewTime(time.Now().Add(-time.Hour))
	d := deploymentOf(5)
	s := observed(d, set{"web:2", 5, 5})
	s.Sets[0].Annotations[deployment.DesiredAnnotation] = "5"
	s.Sets[0].Status.Conditions = []appsv1.ReplicaSetCondition{{
		Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
		LastTransitionTime: since,
	}}
	c := writtenCondition(deployment.Decide(s), appsv1.DeploymentReplicaFailure)
	if !c.LastTransitionTime.Equal(&since) || !c.LastUpdateTime.Equal(&since) {
		t.Errorf("got condition %+v, want the times %s", c, since)
	}
}

// The controller that created the ReplicaSet did not update the condition, which still reports the end of the
// previous rollout. The end of the new rollout is reported nevertheless.
func TestCompletionIsReportedForAdoptedRollout(t *testing.T) {
	t.Parallel()
	d := deploymentOf(5)
	d.Spec.ProgressDeadlineSeconds = new(int32(600))
	d.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
		Message: `ReplicaSet "web:1" has successfully progressed.`,
	}}
	for _, c := range []struct {
		has  int32
		want string
	}{{3, `ReplicaSet "web:2" is progressing.`}, {5, `ReplicaSet "web:2" has successfully progressed.`}} {
		s := observed(d, set{"web:1", 0, 0}, set{"web:2", 5, c.has})
		s.Sets[1].Annotations[deployment.DesiredAnnotation] = "5"
		if got := writtenCondition(deployment.Decide(s), appsv1.DeploymentProgressing); got.Message != c.want {
			t.Errorf("with %d pods: got message %q, want %q", c.has, got.Message, c.want)
		}
	}
}

// writtenCondition returns a condition of the status that the actions write.
func writtenCondition(actions []action.Action, kind appsv1.DeploymentConditionType) (none appsv1.DeploymentCondition) {
	for _, a := range actions {
		if then, ok := a.(action.OnSuccess); ok {
			for _, c := range then.Action.(action.Update[*appsv1.Deployment]).Object.Status.Conditions {
				if c.Type == kind {
					return c
				}
			}
		}
	}
	return none
}

// set is a ReplicaSet with its image, its desired size and the number of its existing pods.
type set struct {
	image         string
	replicas, has int32
}

// deploymentOf returns a Deployment of web:2 with a surge of two.
func deploymentOf(size int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "d", Generation: 3}}
	d.Spec.Replicas = &size
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	d.Spec.Template = templateOf("web:2")
	d.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{
		MaxSurge: new(intstr.FromInt32(2)), MaxUnavailable: new(intstr.FromInt32(1)),
	}
	return d
}

func templateOf(image string) (t corev1.PodTemplateSpec) {
	t.Labels = map[string]string{"app": "web"}
	t.Spec.Containers = []corev1.Container{{Name: "web", Image: image}}
	return t
}

// observed returns a Deployment with ReplicaSets that were last scaled for five pods.
func observed(d *appsv1.Deployment, sets ...set) deployment.Observed {
	s := deployment.Observed{
		Deployment: d, Now: time.Now(), Written: &action.StatusBackoff[deployment.WrittenStatus]{},
		Pods:      func(types.UID) []*corev1.Pod { return nil },
		SetByName: func(string) *appsv1.ReplicaSet { return nil },
	}
	for i, of := range sets {
		r := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Name: of.image, Namespace: "default", UID: types.UID(of.image), Generation: 2,
			Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{
				deployment.RevisionAnnotation: fmt.Sprint(i + 1), deployment.DesiredAnnotation: "5",
				deployment.MaxAnnotation: "7",
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d,
				appsv1.SchemeGroupVersion.WithKind("Deployment"))},
			CreationTimestamp: metav1.NewTime(s.Now.Add(time.Duration(i-10) * time.Minute)),
		}}
		r.Spec.Replicas, r.Spec.Template = &of.replicas, templateOf(of.image)
		r.Status = appsv1.ReplicaSetStatus{ObservedGeneration: 2, Replicas: of.has, ReadyReplicas: of.has,
			AvailableReplicas: of.has}
		s.Sets = append(s.Sets, r)
	}
	return s
}

func decide(d *appsv1.Deployment, sets ...set) []action.Action {
	return deployment.Decide(observed(d, sets...))
}

// sizes returns the sizes that the actions give to ReplicaSets, with their images.
func sizes(actions []action.Action) string {
	byImage := map[string]int32{}
	for _, a := range guarded(actions) {
		if o, ok := a.(action.OnFailure); ok {
			a = o.Action
		}
		switch a := a.(type) {
		case action.Update[*appsv1.ReplicaSet]:
			byImage[a.Object.Spec.Template.Spec.Containers[0].Image] = *a.Object.Spec.Replicas
		case action.Create[*appsv1.ReplicaSet]:
			byImage[a.Object.Spec.Template.Spec.Containers[0].Image] = *a.Object.Spec.Replicas
		}
	}
	var parts []string
	for _, image := range slices.Sorted(maps.Keys(byImage)) {
		parts = append(parts, fmt.Sprintf("%s %d", image, byImage[image]))
	}
	return strings.Join(parts, ", ")
}

// guarded returns the actions that are guarded by preconditions.
func guarded(actions []action.Action) (all []action.Action) {
	for _, a := range actions {
		if s, ok := a.(action.Guard); ok {
			all = append(all, s.Then...)
		}
	}
	return all
}
