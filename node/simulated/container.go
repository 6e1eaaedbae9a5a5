package simulated

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/node"
)

// How a container that is asked to end does: by itself, or killed when its time is over.
const killedCode = 137

// container is one that was started.
type container struct {
	id       string
	restarts int32
	// held says that it cannot be started, since what it should do is not known; runs is when it has been pulled and started.
	held bool
	runs time.Time
	pull time.Duration // which is part of that
	// asked is when it was asked to stop, and deadline when it is killed; zero until then.
	asked, deadline time.Time
	// ended is how it ended, nil while it runs; last how it did before it was started again.
	ended, last *corev1.ContainerStateTerminated
	// looked is when it was last looked at: what has not happened by then does not happen before.
	looked time.Time
}

func newContainer(id string, now time.Time, stages Stages) *container {
	return &container{id: id, held: stages.Wrong != nil, runs: now.Add(stages.Pull + stages.Start), pull: stages.Pull}
}

// at is the container at a time, and how long it stays so; 0 is until somebody does something.
func (c *container) at(now time.Time, stages Stages) (node.Container, time.Duration) {
	if c.held && stages.Wrong == nil {
		c.held, c.runs, c.pull = false, now.Add(stages.Pull+stages.Start), stages.Pull
	}
	if c.ended == nil && !c.held {
		c.end(now, stages)
	}
	c.looked = now
	seen := node.Container{Restarts: c.restarts, ID: c.id, Pull: c.pull}
	if c.last != nil {
		seen.Last.Terminated = c.last
	}
	switch {
	case c.ended != nil:
		seen.State.Terminated = c.ended
		return seen, 0
	case c.held:
		seen.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: stages.Wrong.Error()}
		seen.ID = ""
		return seen, 0
	case now.Before(c.runs):
		seen.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		seen.ID = ""
		return seen, c.runs.Sub(now)
	}
	seen.State.Running = &corev1.ContainerStateRunning{StartedAt: whole(c.runs)}
	seen.Started = true
	ready := c.runs.Add(stages.Ready)
	seen.Ready = stages.Ready >= 0 && !now.Before(ready)
	return seen, c.next(now, ready, stages)
}

// next is how long until the container changes by itself.
func (c *container) next(now, ready time.Time, stages Stages) time.Duration {
	next := time.Duration(0)
	soon := func(at time.Time) {
		if wait := at.Sub(now); wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	if stages.Ready >= 0 {
		soon(ready)
	}
	if at, _, _, ends := c.ends(stages); ends {
		soon(at)
	}
	return next
}

// end ends the container if its time has come.
func (c *container) end(now time.Time, stages Stages) {
	at, code, reason, ends := c.ends(stages)
	if !ends || at.After(now) {
		return
	}
	if !at.After(c.looked) { // it is told to only now
		at = now
	}
	c.ended = &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, StartedAt: whole(c.runs), FinishedAt: whole(at), ContainerID: c.id,
	}
}

// ends is when and how the container ends, as far as that is known.
func (c *container) ends(stages Stages) (at time.Time, code int32, reason string, ends bool) {
	if stages.Ends && (stages.Times == 0 || c.restarts < stages.Times) {
		at, code, reason, ends = c.runs.Add(stages.Run), stages.ExitCode, "Completed", true
		if code != 0 {
			reason = "Error"
		}
	}
	if c.asked.IsZero() {
		return at, code, reason, ends
	}
	stopped, how, why := c.asked.Add(stages.Stop), int32(0), "Completed"
	if stopped.After(c.deadline) {
		stopped, how, why = c.deadline, killedCode, "Error"
	}
	if !ends || stopped.Before(at) {
		return stopped, how, why, true
	}
	return at, code, reason, ends
}

// restart starts a container that has ended. Its image is there already.
func (c *container) restart(now time.Time, stages Stages) {
	if c.ended == nil {
		return
	}
	c.last, c.ended = c.ended, nil
	c.restarts++
	c.held, c.runs, c.pull = stages.Wrong != nil, now.Add(stages.Start), 0
	c.asked, c.deadline = time.Time{}, time.Time{}
}

// stop asks the container to end, and says whether it is to be forgotten since it never ran.
func (c *container) stop(now, deadline time.Time) (never bool) {
	if c.ended != nil {
		return false
	}
	if c.held || now.Before(c.runs) {
		if c.ended = c.last; c.ended != nil {
			c.restarts--
		}
		return c.ended == nil
	}
	if c.asked.IsZero() {
		c.asked, c.deadline = now, deadline
	} else if deadline.Before(c.deadline) {
		c.deadline = deadline
	}
	return false
}

// recalled is a container by its status, or nil if it never ran.
func recalled(status *corev1.ContainerStatus) *container {
	c := &container{id: status.ContainerID, restarts: status.RestartCount, last: status.LastTerminationState.Terminated}
	switch {
	case status.State.Running != nil:
		c.runs = status.State.Running.StartedAt.Time
	case status.State.Terminated != nil:
		c.ended = status.State.Terminated
	case c.last != nil: // it waited to be started again
		c.ended, c.last = c.last, nil
	default:
		return nil
	}
	return c
}

// whole is a time as objects have it, in seconds.
func whole(t time.Time) metav1.Time { return metav1.NewTime(t).Rfc3339Copy() }
