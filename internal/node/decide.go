package node

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// input is the input of a decision about a pod.
type input struct {
	Pod *corev1.Pod
	Observed
	// Backoffs are the restart histories of containers, by name.
	Backoffs map[string]backoff
	// Final is the terminal phase that the pod has reached, whoever set it; empty before that. It never changes: the
	// agent restores it if a client resets the phase.
	Final  corev1.PodPhase
	Resize resize
	Now    time.Time
}

// over reports whether a pod has ended, its runtime has removed it, and its status shows that, so that the status is
// final.
func (s input) over() bool {
	return s.Final != "" && len(s.Containers) == 0 && s.Pod.Status.Phase == s.Final && allTerminated(&s.Pod.Status)
}

// plan is what to do about a pod.
type plan struct {
	// Start are the containers to start, Backoffs the new histories of those that are restarted.
	Start    []string
	Backoffs map[string]backoff
	// Stop are the containers to stop by the deadline. Resizes means that a resize restarts them.
	Stop     []string
	Deadline time.Time
	Resizes  bool
	// Waiting are the containers that wait for their restart, with the state to report.
	Waiting map[string]*corev1.ContainerStateWaiting
	// Ended reports that nothing of the pod runs or will run. Delete requests its final deletion from the
	// API.
	Ended, Delete bool
	// Reason and Message are why the agent ended the pod; they are copied to its status.
	Reason, Message string
	// Requeue is the delay until the next decision is needed; 0 if none is.
	Again time.Duration
}

// decide returns what to do about a pod.
func decide(s input) plan {
	p := plan{Backoffs: map[string]backoff{}, Waiting: map[string]*corev1.ContainerStateWaiting{}}
	p.scheduleAfter(s.Requeue)
	switch {
	case s.Pod.DeletionTimestamp != nil:
		p.end(s, s.Pod.DeletionTimestamp.Time)
		p.Delete = p.Ended
	case s.Final != "":
		p.Reason, p.Message = s.Pod.Status.Reason, s.Pod.Status.Message
		p.end(s, s.Now.Add(grace(s.Pod)))
	case p.pastDeadline(s):
		p.Reason, p.Message = "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
		p.end(s, s.Now.Add(grace(s.Pod)))
	case completed(s):
		p.end(s, s.Now.Add(grace(s.Pod)))
	default:
		p.run(s)
	}
	return p
}

// run runs the containers of a pod. Ephemeral containers do not wait for the init containers, and are never restarted.
func (p *plan) run(s input) {
	if s.Resize.Pending != nil {
		p.scheduleAfter(resizeRetry)
	}
	for i := range s.Pod.Spec.EphemeralContainers {
		p.keep(s, ephemeral(s.Pod, i), corev1.RestartPolicyNever)
	}
	if !p.initialize(s) {
		return
	}
	for i := range s.Pod.Spec.Containers {
		p.keep(s, &s.Pod.Spec.Containers[i], s.Pod.Spec.RestartPolicy)
	}
}

// ephemeral returns an ephemeral container of a pod as a container.
func ephemeral(pod *corev1.Pod, i int) *corev1.Container {
	return (*corev1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
}

func isTerminal(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// grace returns the pod's own grace period.
func grace(pod *corev1.Pod) time.Duration {
	seconds := pod.Spec.TerminationGracePeriodSeconds
	if seconds == nil {
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	}
	return inSeconds(*seconds)
}

// inSeconds returns a number of seconds as a duration, at most the longest one.
func inSeconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Second))) * time.Second
}

// scheduleAfter schedules the next decision, unless an earlier one is scheduled.
func (p *plan) scheduleAfter(after time.Duration) {
	if after > 0 && (p.Again == 0 || after < p.Again) {
		p.Again = after
	}
}

// end stops running containers. Sidecars are stopped in reverse order once no other container runs, or all at
// once when the deadline has passed.
func (p *plan) end(s input, deadline time.Time) {
	p.Deadline = deadline
	for i := range s.Pod.Spec.EphemeralContainers {
		if name := s.Pod.Spec.EphemeralContainers[i].Name; s.Containers[name].running() {
			p.Stop = append(p.Stop, name)
		}
	}
	var sidecars []string
	for _, name := range names(s.Pod) {
		switch {
		case !s.Containers[name].running():
		case isSidecar(s.Pod, name):
			sidecars = append(sidecars, name)
		default:
			p.Stop = append(p.Stop, name)
		}
	}
	if len(sidecars) > 0 {
		left := deadline.Sub(s.Now)
		switch {
		case left <= 0:
			p.Stop = append(p.Stop, sidecars...)
		case len(p.Stop) == 0:
			p.Stop = sidecars[len(sidecars)-1:]
		}
		p.scheduleAfter(left)
	}
	p.Ended = len(p.Stop) == 0
}

// names returns the names of a pod's init and regular containers in starting order.
func names(pod *corev1.Pod) []string {
	all := make([]string, 0, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))
	for _, c := range pod.Spec.InitContainers {
		all = append(all, c.Name)
	}
	for _, c := range pod.Spec.Containers {
		all = append(all, c.Name)
	}
	return all
}

// pastDeadline reports whether a pod has exceeded its active deadline. If not, it schedules a decision for the
// deadline.
func (p *plan) pastDeadline(s input) bool {
	limit, start := s.Pod.Spec.ActiveDeadlineSeconds, s.Pod.Status.StartTime
	if limit == nil || start == nil {
		return false
	}
	left := start.Add(inSeconds(*limit)).Sub(s.Now)
	p.scheduleAfter(left)
	return left <= 0
}

// completed reports whether a pod has completed: its containers have ended and are not restarted, or an init
// container has failed for good.
func completed(s input) bool {
	policy := s.Pod.Spec.RestartPolicy
	for i := range s.Pod.Spec.InitContainers {
		c := &s.Pod.Spec.InitContainers[i]
		if state := s.Containers[c.Name]; !isSidecarSpec(c) && state.ended() != nil && !state.succeeded() &&
			policy == corev1.RestartPolicyNever {
			return true
		}
	}
	for _, c := range s.Pod.Spec.Containers {
		state := s.Containers[c.Name]
		if state.ended() == nil || restarts(state, policy) || slices.Contains(s.Resize.Restarts, c.Name) {
			return false
		}
	}
	return true
}

// isSidecarSpec reports whether an init container is a sidecar, which runs as long as the pod.
func isSidecarSpec(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// restarts reports whether the policy restarts a container that has ended.
func restarts(c Container, policy corev1.RestartPolicy) bool {
	switch policy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return !c.succeeded()
	default:
		return true
	}
}

// initialize runs the init containers in sequence and reports whether the other containers may run. After
// those have started, init containers do not run again.
func (p *plan) initialize(s input) bool {
	started := anyStarted(s)
	for i := range s.Pod.Spec.InitContainers {
		c := &s.Pod.Spec.InitContainers[i]
		state := s.Containers[c.Name]
		switch {
		case isSidecarSpec(c):
			p.keep(s, c, corev1.RestartPolicyAlways)
			if !started && !(state.State.Running != nil && state.Started) {
				return false
			}
		case !started && !state.succeeded():
			p.keep(s, c, s.Pod.Spec.RestartPolicy)
			return false
		}
	}
	return true
}

// anyStarted reports whether any regular container was ever started.
func anyStarted(s input) bool {
	for _, c := range s.Pod.Spec.Containers {
		if _, ok := s.Containers[c.Name]; ok {
			return true
		}
	}
	return false
}

// keep starts a container that was never started, pulls its image again after its backoff, or restarts it after its
// backoff if the policy says so. A container whose resize requires a restart is stopped and started, without a backoff.
func (p *plan) keep(s input, c *corev1.Container, policy corev1.RestartPolicy) {
	name := c.Name
	state, started := s.Containers[name]
	switch {
	case !started:
		p.Start = append(p.Start, name)
	case state.PullFailure != nil:
		p.pullAgain(s.Now, c, state.PullFailure)
	case slices.Contains(s.Resize.Restarts, name):
		if state.State.Running != nil {
			p.Stop, p.Deadline, p.Resizes = append(p.Stop, name), s.Now.Add(grace(s.Pod)), true
		} else if state.ended() != nil {
			p.Start = append(p.Start, name)
		}
	case state.ended() != nil && restarts(state, policy):
		finished := state.ended().FinishedAt.Time
		backoff := s.Backoffs[name]
		if wait := backoff.until(finished).Sub(s.Now); wait > 0 {
			p.scheduleAfter(wait)
			p.Waiting[name] = backingOff(s.Pod, name, backoff.Delay)
			return
		}
		p.Start = append(p.Start, name)
		p.Backoffs[name] = backoff.next(finished)
	}
}
