package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Seen is all that decides what happens to a pod.
type Seen struct {
	Pod *corev1.Pod
	Observed
	// Backoffs are those of containers that were started again, by name.
	Backoffs map[string]Backoff
	Now      time.Time
}

// over says that a pod has ended, and that its runtime has forgotten it: what its status says is the last word.
func (s Seen) over() bool { return ended(s.Pod.Status.Phase) && len(s.Containers) == 0 }

// Plan is what to do about a pod.
type Plan struct {
	// Start are containers to start, and Backoffs the patience with those that are started again.
	Start    []string
	Backoffs map[string]Backoff
	// Stop are containers to stop until the deadline.
	Stop     []string
	Deadline time.Time
	// Waiting are containers that wait for their next start, with the reason.
	Waiting map[string]*corev1.ContainerStateWaiting
	// Ended says that nothing of the pod runs, nor ever will. Delete is to delete it from the API for good.
	Ended, Delete bool
	// Reason and Message are why the pod was ended from here; they become those of its status.
	Reason, Message string
	// Again is in how long to look again, at the latest; 0 when nothing is to come.
	Again time.Duration
}

// Decide is what to do about a pod that was seen so.
func Decide(s Seen) Plan {
	p := Plan{Backoffs: map[string]Backoff{}, Waiting: map[string]*corev1.ContainerStateWaiting{}}
	p.soon(s.Again)
	switch {
	case s.Pod.DeletionTimestamp != nil:
		p.end(s, s.Pod.DeletionTimestamp.Time)
		p.Delete = p.Ended
	case ended(s.Pod.Status.Phase):
		p.Reason, p.Message = s.Pod.Status.Reason, s.Pod.Status.Message
		p.end(s, s.Now.Add(grace(s.Pod)))
	case p.late(s):
		p.Reason, p.Message = "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
		p.end(s, s.Now.Add(grace(s.Pod)))
	case done(s):
		p.end(s, s.Now.Add(grace(s.Pod)))
	case p.initialize(s):
		for _, c := range s.Pod.Spec.Containers {
			p.keep(s, c.Name, s.Pod.Spec.RestartPolicy)
		}
	}
	return p
}

func ended(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// grace is how long a pod may take to end when nobody has said otherwise.
func grace(pod *corev1.Pod) time.Duration {
	seconds := pod.Spec.TerminationGracePeriodSeconds
	if seconds == nil {
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	}
	return time.Duration(*seconds) * time.Second
}

// soon looks again after some time; the soonest counts.
func (p *Plan) soon(after time.Duration) {
	if after > 0 && (p.Again == 0 || after < p.Again) {
		p.Again = after
	}
}

// end stops what runs: sidecars when nothing runs any more that may need them, the last one first, or when the time is over.
func (p *Plan) end(s Seen, deadline time.Time) {
	p.Deadline = deadline
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
		p.soon(left)
	}
	p.Ended = len(p.Stop) == 0
}

// names are those of a pod's containers, in the order in which they start.
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

// late says whether a pod has been active for longer than it may be, and else looks again then.
func (p *Plan) late(s Seen) bool {
	limit, began := s.Pod.Spec.ActiveDeadlineSeconds, s.Pod.Status.StartTime
	if limit == nil || began == nil {
		return false
	}
	left := began.Add(time.Duration(*limit) * time.Second).Sub(s.Now)
	p.soon(left)
	return left <= 0
}

// done says whether a pod has come to its end by itself: its containers have, and are not started again, or one that it needed
// before them has failed for good.
func done(s Seen) bool {
	policy := s.Pod.Spec.RestartPolicy
	for i := range s.Pod.Spec.InitContainers {
		c := &s.Pod.Spec.InitContainers[i]
		if state := s.Containers[c.Name]; !sidecar(c) && state.ended() != nil && !state.succeeded() && policy == corev1.RestartPolicyNever {
			return true
		}
	}
	for _, c := range s.Pod.Spec.Containers {
		if state := s.Containers[c.Name]; state.ended() == nil || again(state, policy) {
			return false
		}
	}
	return true
}

// sidecar says whether an init container runs for as long as the pod does.
func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// again says whether a container that has ended is to be started again.
func again(c Container, policy corev1.RestartPolicy) bool {
	switch policy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return !c.succeeded()
	default:
		return true
	}
}

// initialize goes on with the init containers, one after the other, and says whether all are where they should be. Once the
// others have begun, those that were done stay done.
func (p *Plan) initialize(s Seen) bool {
	begun := anyBegan(s)
	for i := range s.Pod.Spec.InitContainers {
		c := &s.Pod.Spec.InitContainers[i]
		state := s.Containers[c.Name]
		switch {
		case sidecar(c):
			p.keep(s, c.Name, corev1.RestartPolicyAlways)
			if !begun && !(state.State.Running != nil && state.Started) {
				return false
			}
		case !begun && !state.succeeded():
			p.keep(s, c.Name, s.Pod.Spec.RestartPolicy)
			return false
		}
	}
	return true
}

// anyBegan says whether a container that is no init container was ever started.
func anyBegan(s Seen) bool {
	for _, c := range s.Pod.Spec.Containers {
		if _, ok := s.Containers[c.Name]; ok {
			return true
		}
	}
	return false
}

// keep starts a container that was never started, or that ended and should not have, when its time has come.
func (p *Plan) keep(s Seen, name string, policy corev1.RestartPolicy) {
	state, begun := s.Containers[name]
	switch {
	case !begun:
		p.Start = append(p.Start, name)
	case state.ended() != nil && again(state, policy):
		finished := state.ended().FinishedAt.Time
		backoff := s.Backoffs[name]
		if wait := backoff.until(finished).Sub(s.Now); wait > 0 {
			p.soon(wait)
			p.Waiting[name] = backingOff(s.Pod, name, backoff.Delay)
			return
		}
		p.Start = append(p.Start, name)
		p.Backoffs[name] = backoff.next(finished)
	}
}
