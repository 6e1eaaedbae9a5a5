package replicaset

import (
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Failed pods with creation times in the future, as after a restored backup, delay the next pod no longer than others.
func TestBackoffWithExtremeCreationTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		CreationTimestamp: metav1.NewTime(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))}}
	f := failures{count: 4, immediate: 3, last: pod, lastAttempt: pod.CreationTimestamp.Time}
	if got := f.delay(now); got != backoff(1) {
		t.Errorf("got a delay of %s, want %s", got, backoff(1))
	}
}

// The largest set with as many pods as one owner may have gets no more, and says why.
func TestLargestSetAtTheLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	owner := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "web"}}
	s := Observed{Now: now, NameTaken: func(string) bool { return false }}
	s.Object, s.Kind, s.Replicas, s.Selector = owner, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), math.MaxInt32,
		labels.Everything()
	s.Template = &corev1.PodTemplateSpec{}
	for i := range podlimit.MaxPods {
		pod := pods.New(s.Template, owner, s.Kind, strconv.Itoa(i))
		pod.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
		s.Pods = append(s.Pods, pod)
	}
	decide := func() (count int) {
		s.Claims = ClaimsOf(s.Set, s.Pods)
		s.Usage = podlimit.Count(now, slices.Values(s.Pods))
		for _, a := range Decide(s) {
			count += len(a.(action.Parallel))
		}
		return count
	}
	if got := decide(); got != 0 {
		t.Errorf("at the limit: got %d actions, want none", got)
	}
	refusal := s.limit().Refusal
	if refusal == nil {
		t.Fatal("got no refusal")
	}
	status, _ := Report(s, refusal)
	if c := status.Conditions; len(c) != 1 || c[0].Reason != "FailedCreate" || c[0].Message != refusal.Error() {
		t.Errorf("got conditions %v, want %q", c, refusal)
	}
	// an earlier failure does not hide the limit, and the limit does not hide the next one's end
	s.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Message: "earlier"}}
	if status, _ = Report(s, refusal); status.Conditions[0].Message != refusal.Error() {
		t.Errorf("got conditions %v, want %q", status.Conditions, refusal)
	}
	s.Pods = s.Pods[:podlimit.MaxPods-3]
	if got := decide(); got != 3 {
		t.Errorf("below the limit: got %d pods, want 3", got)
	}
	s.Replicas = podlimit.MaxPods
	decide()
	if status, _ = Report(s, nil); s.limit().Refusal != nil || len(status.Conditions) != 0 {
		t.Errorf("with a possible size: got refusal %v, conditions %v, want none", s.limit().Refusal, status.Conditions)
	}
}
