package node

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// containerIn returns a container in a state: running, ready, waiting, or ended five seconds ago with an exit
// code.
func containerIn(word string) Container {
	switch word {
	case "running", "ready":
		return Container{
			State:   corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon)}},
			Started: word == "ready", Ready: word == "ready",
		}
	case "waiting":
		return Container{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}
	}
	var code int32
	if _, err := fmt.Sscan(word, &code); err != nil {
		panic(err)
	}
	return Container{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, FinishedAt: metav1.NewTime(noon.Add(-5 * time.Second)),
	}}}
}

// podIn returns a pod with the containers that spec lists, in the given states. first and second are init
// containers, side and other are sidecars, and a and b are regular containers.
func podIn(policy corev1.RestartPolicy, spec, states string) input {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "1"}}
	pod.Spec.RestartPolicy = policy
	for _, name := range strings.Fields(spec) {
		c := corev1.Container{Name: name}
		switch name {
		case "a", "b":
			pod.Spec.Containers = append(pod.Spec.Containers, c)
			continue
		case "side", "other":
			c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	s := input{Pod: pod, Now: noon, Observed: Observed{Containers: map[string]Container{}},
		Backoffs: map[string]backoff{}}
	for _, state := range strings.Fields(states) {
		name, word, _ := strings.Cut(state, "=")
		s.Containers[name] = containerIn(word)
	}
	return s
}

func TestContainersAndPodStatus(t *testing.T) {
	t.Parallel()
	const always, onFailure, never = corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure,
		corev1.RestartPolicyNever
	for _, c := range []struct {
		policy       corev1.RestartPolicy
		spec, states string
		start, stop  string
		ended        bool
		phase        corev1.PodPhase
		conditions   string // Initialized, ContainersReady and Ready
	}{
		{always, "a b", "", "a b", "", false, corev1.PodPending, "True False ContainersNotReady"},
		{always, "a b", "a=waiting b=waiting", "", "", false, corev1.PodPending, "True False ContainersNotReady"},
		{always, "a b", "a=ready b=running", "", "", false, corev1.PodRunning, "True False ContainersNotReady"},
		{always, "a b", "a=ready b=ready", "", "", false, corev1.PodRunning, "True True "},
		{always, "a b", "a=ready b=0", "b", "", false, corev1.PodRunning, "True False ContainersNotReady"},
		{always, "a", "a=1", "a", "", false, corev1.PodRunning, "True False ContainersNotReady"},
		{onFailure, "a b", "a=1 b=0", "a", "", false, corev1.PodRunning, "True False ContainersNotReady"},
		{onFailure, "a b", "a=0 b=0", "", "", true, corev1.PodSucceeded, "True False PodCompleted"},
		{never, "a b", "a=1 b=ready", "", "", false, corev1.PodRunning, "True False ContainersNotReady"},
		{never, "a b", "a=1 b=0", "", "", true, corev1.PodFailed, "True False PodFailed"},
		{never, "a b", "a=0 b=0", "", "", true, corev1.PodSucceeded, "True False PodCompleted"},

		{always, "first second a", "", "first", "", false, corev1.PodPending, "False False ContainersNotReady"},
		{always, "first second a", "first=running", "", "", false, corev1.PodPending, "False False ContainersNotReady"},
		{always, "first second a", "first=0", "second", "", false, corev1.PodPending, "False False ContainersNotReady"},
		{always, "first second a", "first=3", "first", "", false, corev1.PodPending, "False False ContainersNotReady"},
		{never, "first second a", "first=3", "", "", true, corev1.PodFailed, "False False PodFailed"},
		{always, "first second a", "first=0 second=0", "a", "", false, corev1.PodPending,
			"True False ContainersNotReady"},
		{always, "first a", "first=0 a=ready", "", "", false, corev1.PodRunning, "True True "},

		{always, "side first a", "", "side", "", false, corev1.PodPending, "False False ContainersNotReady"},
		{always, "side first a", "side=running", "", "", false, corev1.PodPending, "False False ContainersNotReady"},
		{always, "side first a", "side=ready", "first", "", false, corev1.PodPending, "False False ContainersNotReady"},
		{always, "side a", "side=ready a=ready", "", "", false, corev1.PodRunning, "True True "},
		{always, "side a", "side=running a=ready", "", "", false, corev1.PodRunning, "True False ContainersNotReady"},
		{always, "side a", "side=0 a=ready", "side", "", false, corev1.PodRunning, "True False ContainersNotReady"},
		{never, "side a", "side=ready a=0", "", "side", false, corev1.PodRunning, "True False ContainersNotReady"},
		{never, "side a", "side=137 a=0", "", "", true, corev1.PodSucceeded, "True False PodCompleted"},
	} {
		s := podIn(c.policy, c.spec, c.states)
		p := decide(s)
		status := newStatus(s, p)
		start, stop := strings.Join(p.Start, " "), strings.Join(p.Stop, " ")
		if start != c.start || stop != c.stop || p.Ended != c.ended || status.Phase != c.phase ||
			conditionsOf(status) != c.conditions {
			t.Errorf("%s, [%s] with %s: start [%s], stop [%s], ended %t, %s, %s;\n\twant [%s], [%s], %t, %s, %s",
				c.policy, c.spec, c.states,
				start, stop, p.Ended, status.Phase, conditionsOf(status), c.start, c.stop, c.ended, c.phase,
				c.conditions)
		}
	}
}

func conditionsOf(status corev1.PodStatus) string {
	is := func(kind corev1.PodConditionType) corev1.PodCondition {
		at := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
		return status.Conditions[at]
	}
	ready, containers := is(corev1.PodReady), is(corev1.ContainersReady)
	if ready.Status != containers.Status || ready.Reason != containers.Reason {
		return fmt.Sprint(ready, containers)
	}
	return fmt.Sprintf("%s %s %s", is(corev1.PodInitialized).Status, ready.Status, ready.Reason)
}

func TestDeletedPodsStopByTheirDeadline(t *testing.T) {
	t.Parallel()
	deadline := metav1.NewTime(noon.Add(7 * time.Second))
	for _, c := range []struct {
		states, stop string
		deleted      bool
		phase        corev1.PodPhase
	}{
		{"a=ready b=waiting", "a b", false, corev1.PodPending},
		{"a=ready b=0", "a", false, corev1.PodRunning},
		{"a=0 b=0", "", true, corev1.PodSucceeded},
		{"a=137 b=0", "", true, corev1.PodFailed},
		{"", "", true, corev1.PodPending},
	} {
		s := podIn(corev1.RestartPolicyAlways, "a b", c.states)
		s.Pod.DeletionTimestamp = &deadline
		p := decide(s)
		status := newStatus(s, p)
		if strings.Join(p.Stop, " ") != c.stop || p.Delete != c.deleted || status.Phase != c.phase ||
			len(p.Start) > 0 || !p.Deadline.Equal(deadline.Time) {
			t.Errorf("%s: stop %v until %s, start %v, delete %t, %s", c.states, p.Stop, p.Deadline, p.Start, p.Delete,
				status.Phase)
		}
	}
}

func TestSidecarsStopLastInReverseOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		states, stop     string
		left, retryAfter time.Duration
	}{
		{"side=ready other=ready a=ready b=0", "a", 7 * time.Second, 7 * time.Second},
		{"side=ready other=ready a=0 b=0", "other", 7 * time.Second, 7 * time.Second},
		{"side=ready other=137 a=0 b=0", "side", 7 * time.Second, 7 * time.Second},
		{"side=ready other=ready a=ready b=0", "a side other", 0, 0},
		{"side=0 other=0 a=0 b=0", "", 7 * time.Second, 0},
	} {
		s := podIn(corev1.RestartPolicyAlways, "side other a b", c.states)
		s.Pod.DeletionTimestamp = &metav1.Time{Time: noon.Add(c.left)}
		p := decide(s)
		if strings.Join(p.Stop, " ") != c.stop || p.Again != c.retryAfter || p.Delete != (c.stop == "") {
			t.Errorf("%s with %s left: stop %v, look again in %s, delete %t", c.states, c.left, p.Stop, p.Again,
				p.Delete)
		}
	}
}

// A status that another client has written may lack the fields of sidecars.
func TestForeignStatusMayLackSidecarFields(t *testing.T) {
	t.Parallel()
	s := podIn(corev1.RestartPolicyAlways, "side a", "")
	s.Pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "side"}}
	if got := conditionsOf(newStatus(s, decide(s))); got != "False False ContainersNotReady" {
		t.Error(got)
	}
}

func TestRestartBackoffGrowsAndResets(t *testing.T) {
	t.Parallel()
	var b backoff
	var waits []time.Duration
	end := noon
	for range 8 {
		at := b.until(end)
		waits = append(waits, at.Sub(end))
		b, end = b.next(end), at.Add(time.Second)
	}
	want := []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second,
		160 * time.Second, maxDelay, maxDelay}
	if !slices.Equal(waits, want) {
		t.Errorf("waits %v, want %v", waits, want)
	}
	if late := end.Add(resetAfter); b.until(late) != late || b.next(late).Delay != firstDelay {
		t.Error("a container that ran for long is not forgiven")
	}
}

func TestWaitingContainersReportTheirBackoff(t *testing.T) {
	t.Parallel()
	s := podIn(corev1.RestartPolicyAlways, "a", "a=1")
	s.Backoffs["a"] = backoff{Delay: 20 * time.Second, Since: noon.Add(-time.Minute)}
	p := decide(s)
	status := newStatus(s, p).ContainerStatuses[0]
	if len(p.Start) > 0 || p.Again != 15*time.Second {
		t.Errorf("starts %v, looks again in %s; the container ended five seconds ago, and waits for twenty", p.Start,
			p.Again)
	}
	const message = "back-off 20s restarting failed container=a pod=p_default(1)"
	if w := status.State.Waiting; w == nil || w.Reason != crashLoop || w.Message != message ||
		status.LastTerminationState.Terminated == nil {
		t.Errorf("status %+v", status)
	}
}

func TestReadinessGatesDelayReady(t *testing.T) {
	t.Parallel()
	s := podIn(corev1.RestartPolicyAlways, "a", "a=ready")
	s.Pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/there"},
		{ConditionType: "example.com/missing"}}
	s.Pod.Status.Conditions = []corev1.PodCondition{{Type: "example.com/there", Status: corev1.ConditionFalse}}
	status := newStatus(s, decide(s))
	at := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	const message = `the status of pod readiness gate "example.com/there" is not "True", but False, ` +
		`corresponding condition of pod readiness gate "example.com/missing" does not exist.`
	if c := status.Conditions[at]; c.Status != corev1.ConditionFalse || c.Reason != readinessGatesNotReady ||
		c.Message != message {
		t.Errorf("%+v", c)
	}
}

// The longest grace period and the longest deadline have not passed.
func TestLongestSecondsDoNotOverflow(t *testing.T) {
	t.Parallel()
	s := podIn(corev1.RestartPolicyAlways, "a", "a=running")
	s.Pod.Spec.TerminationGracePeriodSeconds, s.Pod.Spec.ActiveDeadlineSeconds = ptr.To[int64](math.MaxInt64),
		ptr.To[int64](math.MaxInt64)
	s.Pod.Status.StartTime = ptr.To(metav1.NewTime(noon))
	if got := grace(s.Pod); got < 100*365*24*time.Hour {
		t.Errorf("got a grace period of %s, want centuries", got)
	}
	if p := (&plan{}); p.pastDeadline(s) || p.Again < 100*365*24*time.Hour {
		t.Errorf("got a decision after %s, want centuries", p.Again)
	}
}
