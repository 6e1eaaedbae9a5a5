package daemonset

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/history"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podbackoff"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podset"
)

// observed returns a set with its revision, and the given nodes with a running pod of that revision each.
func observed(t *testing.T, nodes ...string) Observed {
	t.Helper()
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "default", UID: "agent",
		Generation: 1}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
	set.Spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
	hash := pods.Hash(&set.Spec.Template, nil)
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(set, kind)}
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Name: "agent-" + hash, Namespace: "default", UID: "revision", OwnerReferences: owner,
		Labels: map[string]string{"app": "agent", appsv1.DefaultDaemonSetUniqueLabelKey: hash},
	}, Revision: 1}
	var err error
	if revision.Data.Raw, err = history.EncodeTemplate(&set.Spec.Template); err != nil {
		t.Fatal(err)
	}
	s := Observed{Observed: podset.Observed[*appsv1.DaemonSet]{
		Set: set, Revisions: []*appsv1.ControllerRevision{revision}, Backoff: podbackoff.New(), Now: time.Now(),
	}}
	s.Pod = func(string) *corev1.Pod { return nil }
	s.Revision = func(string) *appsv1.ControllerRevision { return revision }
	for _, name := range nodes {
		s.Nodes = append(s.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		pod := pods.New(&set.Spec.Template, set, kind, "agent-"+name)
		pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
		pod.Spec.NodeName, pod.Status.Phase = name, corev1.PodRunning
		s.Pods = append(s.Pods, pod)
	}
	return s
}

// planned returns the actions that Decide plans, without the preconditions.
func planned(t *testing.T, s Observed) string {
	t.Helper()
	plan, err := Decide(s)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, a := range append(plan.Claim, plan.Apply...) {
		if text := a.String(); !strings.HasPrefix(text, "check that") {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

func TestRevisionWithoutLabelIsReused(t *testing.T) {
	t.Parallel()
	s := observed(t, "a", "b")
	if got := planned(t, s); got != "" {
		t.Fatalf("with the label: got actions %q, want none", got)
	}
	delete(s.Revisions[0].Labels, appsv1.DefaultDaemonSetUniqueLabelKey)
	if got := planned(t, s); got != "" {
		t.Errorf("without the label: got actions %q, want none", got)
	}
}

func TestLeftoverRollingUpdateFieldsAreIgnored(t *testing.T) {
	t.Parallel()
	for strategy, want := range map[appsv1.DaemonSetUpdateStrategyType]bool{
		appsv1.RollingUpdateDaemonSetStrategyType: true, appsv1.OnDeleteDaemonSetStrategyType: false,
	} {
		s := observed(t, "a")
		s.Set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: strategy,
			RollingUpdate: &appsv1.RollingUpdateDaemonSet{
				MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromInt32(1)),
			}}
		s.Pods[0].DeletionTimestamp = &metav1.Time{Time: s.Now}
		if got := planned(t, s); strings.Contains(got, "create pod/") != want {
			t.Errorf("%s, with a terminating pod: got actions %q, want a new pod: %t", strategy, got, want)
		}
	}
}

// Two controllers may have created two revisions of one template. No pod is replaced by an identical one.
func TestPodsOfDuplicateRevisionsAreRetained(t *testing.T) {
	t.Parallel()
	s := observed(t, "a", "b")
	twin := s.Revisions[0].DeepCopy()
	twin.Name, twin.UID, twin.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "agent-first", "twin", "first"
	s.Revisions[0].Revision = 2
	s.Revisions = append(s.Revisions, twin)
	s.Pods[1].Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "first"
	if got, want := planned(t, s), "relabel pod/agent-b; delete controllerrevision/agent-first"; got != want {
		t.Errorf("got actions %q, want %q", got, want)
	}
	twin.DeletionTimestamp = &metav1.Time{Time: s.Now}
	s.Pods[1].Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = s.Pods[0].Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	if got := planned(t, s); got != "" {
		t.Errorf("with a terminating duplicate: got actions %q, want none", got)
	}
}

// A set gets as many pods at once as the limits permit, and says that the other nodes follow.
func TestPodsAtOnceAreLimited(t *testing.T) {
	t.Parallel()
	s := observed(t, "a")
	for i := range podlimit.MaxRecent + 1 {
		s.Nodes = append(s.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i)}})
	}
	plan, err := Decide(s)
	if err != nil {
		t.Fatal(err)
	}
	if c := plan.Status.Conditions; len(c) != 1 || c[0].Type != podlimit.ConditionType ||
		c[0].Reason != podlimit.Reason || !strings.Contains(c[0].Message, "the others follow") {
		t.Errorf("got conditions %v, want the limit", c)
	}
	const event = "event FailedCreate on agent: Error creating: at most 2000 pods"
	if got := planned(t, s); !strings.Contains(got, event) {
		t.Errorf("got actions %.200q, want an event", got)
	}
	for _, node := range s.Nodes[1:] { // all exist, but one
		pod := s.Pods[0].DeepCopy()
		pod.Name, pod.Spec.NodeName, pod.CreationTimestamp = "agent-"+node.Name, node.Name, metav1.NewTime(s.Now)
		s.Pods = append(s.Pods, pod)
	}
	s.Pods = s.Pods[:len(s.Pods)-1]
	if got := planned(t, s); strings.Contains(got, "create pod") {
		t.Errorf("within the window: got actions %.200q, want no pod created", got)
	}
	if plan, err = Decide(s); err != nil || plan.RequeueAfter <= 0 || plan.RequeueAfter > podlimit.Window {
		t.Errorf("within the window: got requeue after %s (%v), want one within the window", plan.RequeueAfter, err)
	}
	s.Now = s.Now.Add(podlimit.Window)
	s.Set.Status.Conditions = plan.Status.Conditions
	if got := planned(t, s); !strings.Contains(got, "create pod") || strings.Contains(got, "event") {
		t.Errorf("after the window: got actions %.200q, want a pod created", got)
	}
	if plan, err = Decide(s); err != nil || len(plan.Status.Conditions) != 0 {
		t.Errorf("after the window: got conditions %v (%v), want none", plan.Status.Conditions, err)
	}
}
