package core

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// podColumns are the columns of `kubectl get pods`; it shows priority 1 only with -o wide.
var podColumns = []metav1.TableColumnDefinition{
	kind.NameColumn,
	{Name: "Ready", Type: "string", Description: "The aggregate readiness state of this pod for accepting traffic."},
	{Name: "Status", Type: "string", Description: "The aggregate status of the containers in this pod."},
	{Name: "Restarts", Type: "string",
		Description: "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."},
	kind.AgeColumn,
	{Name: "IP", Type: "string", Priority: 1, Description: corev1.PodStatus{}.SwaggerDoc()["podIP"]},
	{Name: "Node", Type: "string", Priority: 1, Description: corev1.PodSpec{}.SwaggerDoc()["nodeName"]},
	{Name: "Nominated Node", Type: "string", Priority: 1,
		Description: corev1.PodStatus{}.SwaggerDoc()["nominatedNodeName"]},
	{Name: "Readiness Gates", Type: "string", Priority: 1,
		Description: corev1.PodSpec{}.SwaggerDoc()["readinessGates"]},
}

// podRow returns the cells of a pod.
func podRow(pod *corev1.Pod, now time.Time) []any {
	s := summarize(pod)
	ip := pod.Status.PodIP
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return []any{
		pod.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.status, s.restartCell(now),
		kind.Age(pod.CreationTimestamp.Time, now),
		cmp.Or(ip, nothing), cmp.Or(pod.Spec.NodeName, nothing), cmp.Or(pod.Status.NominatedNodeName, nothing),
		readinessGates(pod),
	}
}

func readinessGates(pod *corev1.Pod) string {
	gates := pod.Spec.ReadinessGates
	if len(gates) == 0 {
		return nothing
	}
	open := 0
	for _, gate := range gates {
		if conditionTrue(pod, gate.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(gates))
}

func conditionTrue(pod *corev1.Pod, condition corev1.PodConditionType) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == condition {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// podSummary is the status of a pod as kubectl shows it in one line.
type podSummary struct {
	ready, total, restarts int
	lastRestart            metav1.Time
	status                 string
}

// summarize summarizes the status of a pod. While it initializes, the init containers determine the status,
// later the regular ones.
func summarize(pod *corev1.Pod) podSummary {
	s := podSummary{total: len(pod.Spec.Containers), status: string(pod.Status.Phase)}
	if pod.Status.Reason != "" {
		s.status = pod.Status.Reason
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled &&
			c.Reason == corev1.PodReasonSchedulingGated {
			s.status = corev1.PodReasonSchedulingGated
		}
	}
	sidecars := podSummary{}
	if initializing := s.initStatuses(pod, &sidecars); !initializing || conditionTrue(pod, corev1.PodInitialized) {
		s.restarts, s.lastRestart = sidecars.restarts, sidecars.lastRestart
		s.containerStatuses(pod)
	}
	switch {
	case pod.DeletionTimestamp == nil:
	case pod.Status.Reason == nodeLost:
		s.status = "Unknown"
	case !podEnded(pod):
		s.status = "Terminating"
	}
	return s
}

// nodeLost is the reason of a pod whose node has been unreachable for long.
const nodeLost = "NodeLost"

func (s *podSummary) countRestarts(c *corev1.ContainerStatus) {
	s.restarts += int(c.RestartCount)
	if ended := c.LastTerminationState.Terminated; ended != nil && s.lastRestart.Before(&ended.FinishedAt) {
		s.lastRestart = ended.FinishedAt
	}
}

// initStatuses processes the init containers up to the first that is not done, and reports whether there is
// one. It counts sidecars, which keep running, separately.
func (s *podSummary) initStatuses(pod *corev1.Pod, sidecars *podSummary) (initializing bool) {
	restartable := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; podspec.IsSidecar(c) {
			restartable[c.Name] = true
			s.total++
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		s.countRestarts(c)
		sidecar := restartable[c.Name]
		if sidecar {
			sidecars.countRestarts(c)
		}
		switch {
		case c.State.Terminated != nil && c.State.Terminated.ExitCode == 0:
			continue
		case sidecar && c.Started != nil && *c.Started:
			if c.Ready {
				s.ready++
			}
			continue
		}
		s.status = initStatus(c, i, len(pod.Spec.InitContainers))
		return true
	}
	return false
}

func initStatus(c *corev1.ContainerStatus, done, total int) string {
	switch ended, waits := c.State.Terminated, c.State.Waiting; {
	case ended != nil:
		return "Init:" + endReason(ended)
	case waits != nil && waits.Reason != "" && waits.Reason != "PodInitializing":
		return "Init:" + waits.Reason
	}
	return fmt.Sprintf("Init:%d/%d", done, total)
}

func endReason(ended *corev1.ContainerStateTerminated) string {
	switch {
	case ended.Reason != "":
		return ended.Reason
	case ended.Signal != 0:
		return fmt.Sprintf("Signal:%d", ended.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", ended.ExitCode)
}

// containerStatuses processes the regular containers in reverse order, so that the first one determines the
// status. A pod with a completed container is still running while another container is.
func (s *podSummary) containerStatuses(pod *corev1.Pod) {
	running := false
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &pod.Status.ContainerStatuses[i]
		s.countRestarts(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.status = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.status = endReason(c.State.Terminated)
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.status == "Completed" && running {
		s.status = "NotReady"
		if conditionTrue(pod, corev1.PodReady) {
			s.status = "Running"
		}
	}
}

func (s *podSummary) restartCell(now time.Time) string {
	if s.restarts != 0 && !s.lastRestart.IsZero() {
		return fmt.Sprintf("%d (%s ago)", s.restarts, kind.Age(s.lastRestart.Time, now))
	}
	return strconv.Itoa(s.restarts)
}
