package simulated

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/node"
)

// killedCode is the exit code of a container that is killed at its deadline.
const killedCode = 137

// container is a container that was started.
type container struct {
	id       string
	restarts int32
	// blocked is set while the container cannot start because of Stages.invalid. runs is the time at which it
	// is pulled and started.
	blocked bool
	runs    time.Time
	pull    time.Duration // the part of the start that pulls the image
	// stopAt is when the container was asked to stop, deadline when it is killed; zero before that.
	stopAt, deadline time.Time
	// image is the image that it was started with. failure is set if that could not be pulled; before the time of the
	// failure, it is being pulled.
	image   string
	failure *node.PullFailure
	// ended is the result of the container, nil while it runs; last is the result before its last restart.
	ended, last *corev1.ContainerStateTerminated
	// observed is the time of the last observation. A container never ends before it.
	observed time.Time
}

func newContainer(id string, now time.Time, stages Stages) *container {
	c := &container{id: id}
	c.begin(now, stages)
	return c
}

// begin begins a start of the container. The image is present on the node if the container has run with it.
func (c *container) begin(now time.Time, stages Stages) {
	present, failure := c.last != nil && c.image == stages.image, c.failure
	c.blocked, c.image, c.pull, c.failure = stages.invalid != nil, stages.image, stages.Pull, nil
	if present || stages.never {
		c.pull = 0
	}
	c.runs = now.Add(c.pull + stages.Start)
	if present || c.blocked || stages.missing == "" {
		return
	}
	c.failure = &node.PullFailure{Image: stages.image, At: now.Add(c.pull), Attempts: 1, Never: stages.never,
		Message: stages.missing}
	if failure != nil && failure.Image == stages.image {
		c.failure.Attempts += failure.Attempts
	}
}

// at returns the state of the container at a time, and how long the state lasts; 0 means until an operation
// changes it.
func (c *container) at(now time.Time, stages Stages) (node.Container, time.Duration) {
	if c.blocked && stages.invalid == nil {
		c.begin(now, stages)
	}
	if c.ended == nil && !c.blocked && c.failure == nil {
		c.end(now, stages)
	}
	c.observed = now
	observed := node.Container{Restarts: c.restarts, ID: c.id, Pull: c.pull}
	if c.last != nil {
		observed.Last.Terminated = c.last
	}
	switch {
	case c.ended != nil:
		observed.State.Terminated = c.ended
		return observed, 0
	case c.blocked:
		observed.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError",
			Message: stages.invalid.Error()}
		observed.ID = ""
		return observed, 0
	case c.failure != nil && !now.Before(c.failure.At):
		observed.PullFailure, observed.ID = c.failure, ""
		if c.last != nil {
			observed.Restarts-- // it counts when the container is created
		}
		return observed, 0
	case c.failure != nil:
		observed.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		observed.ID = ""
		return observed, c.failure.At.Sub(now)
	case now.Before(c.runs):
		observed.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		observed.ID = ""
		return observed, c.runs.Sub(now)
	}
	observed.State.Running = &corev1.ContainerStateRunning{StartedAt: seconds(c.runs)}
	observed.Started = true
	ready := c.runs.Add(stages.Ready)
	observed.Ready = stages.Ready >= 0 && !now.Before(ready)
	return observed, c.next(now, ready, stages)
}

// next returns the time until the container's state changes.
func (c *container) next(now, ready time.Time, stages Stages) time.Duration {
	next := time.Duration(0)
	consider := func(at time.Time) {
		if wait := at.Sub(now); wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	if stages.Ready >= 0 {
		consider(ready)
	}
	if at, _, _, ends := c.ends(stages); ends {
		consider(at)
	}
	return next
}

// end ends the container if its end is due.
func (c *container) end(now time.Time, stages Stages) {
	at, code, reason, ends := c.ends(stages)
	if !ends || at.After(now) {
		return
	}
	if !at.After(c.observed) { // the annotations were changed after the last observation
		at = now
	}
	c.ended = &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, StartedAt: seconds(c.runs), FinishedAt: seconds(at), ContainerID: c.id,
	}
}

// ends returns when and how the container ends. The result ends is false if that is not determined yet.
func (c *container) ends(stages Stages) (at time.Time, code int32, reason string, ends bool) {
	if stages.Ends && (stages.Times == 0 || c.restarts < stages.Times) {
		at, code, reason, ends = c.runs.Add(stages.Run), stages.ExitCode, "Completed", true
		if code != 0 {
			reason = "Error"
		}
	}
	if c.stopAt.IsZero() {
		return at, code, reason, ends
	}
	stopped, stopCode, stopReason := c.stopAt.Add(stages.Stop), stages.stopCode, "Completed"
	if stopCode != 0 {
		stopReason = "Error"
	}
	if stopped.After(c.deadline) {
		stopped, stopCode, stopReason = c.deadline, killedCode, "Error"
	}
	if !ends || stopped.Before(at) {
		return stopped, stopCode, stopReason, true
	}
	return at, code, reason, ends
}

// restart restarts a container that has ended, or pulls its image again after a failure.
func (c *container) restart(now time.Time, stages Stages) {
	switch {
	case c.ended != nil:
		c.last, c.ended = c.ended, nil
		c.restarts++
	case c.failure == nil || now.Before(c.failure.At):
		return
	}
	c.begin(now, stages)
	c.stopAt, c.deadline = time.Time{}, time.Time{}
}

// stop requests the container to exit. If the container never ran, stop returns true and the caller must remove it.
func (c *container) stop(now, deadline time.Time) (neverRan bool) {
	if c.ended != nil {
		return false
	}
	if c.blocked || c.failure != nil || now.Before(c.runs) {
		c.failure = nil
		if c.ended = c.last; c.ended != nil {
			c.restarts--
		}
		return c.ended == nil
	}
	if c.stopAt.IsZero() {
		c.stopAt, c.deadline = now, deadline
	} else if deadline.Before(c.deadline) {
		c.deadline = deadline
	}
	return false
}

// restoreContainer restores a container from its status; nil if it never ran.
func restoreContainer(status *corev1.ContainerStatus) *container {
	c := &container{id: status.ContainerID, image: status.Image, restarts: status.RestartCount,
		last: status.LastTerminationState.Terminated}
	switch {
	case status.State.Running != nil:
		c.runs = status.State.Running.StartedAt.Time
	case status.State.Terminated != nil:
		c.ended = status.State.Terminated
	case c.last != nil: // it was waiting for its restart
		c.ended, c.last = c.last, nil
	default:
		return nil
	}
	return c
}

// seconds truncates a time to seconds, as in the API.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t).Rfc3339Copy() }
