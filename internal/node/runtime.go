package node

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Runtime runs the containers of pods. Its methods start operations and return without waiting; Observe
// reports the progress. Operations are idempotent. Methods are called concurrently, but never for the same
// pod. A pod is identified by its uid, since a pod's name may be reused.
type Runtime interface {
	// Name is the component in the agent's events.
	Name() string
	// Describe completes a Node before it is registered: labels and annotations, and in its status the
	// capacity, addresses and nodeInfo. It returns the message of the condition Ready.
	Describe(node *corev1.Node) (ready string)
	// Observe returns the state of a pod. After a restart of the agent, Observe is called for all existing
	// pods before any container is started, so that the runtime can recover them.
	Observe(pod *corev1.Pod) Observed
	// Start pulls the image of a container and starts it, unless it is running or being started. A container
	// that has ended is restarted, and one whose image could not be pulled makes another attempt, with the
	// image that the pod now names. The first container of a pod assigns the pod's addresses.
	Start(ctx context.Context, pod *corev1.Pod, container string) error
	// Stop asks a container to end, and kills it at the deadline. Of several deadlines the earliest applies.
	Stop(ctx context.Context, pod *corev1.Pod, container string, deadline time.Time) error
	// Remove frees the resources of a pod of which nothing runs or will run. The pod may still be observed
	// afterwards.
	Remove(pod types.UID)
	// Notify registers f, to be called whenever the state of a pod may have changed. It is called once,
	// before all other methods except Describe. A runtime that can predict all changes may report them in
	// Observed.Requeue instead.
	Notify(f func(pod types.NamespacedName))
}

// FailureSimulator is a Runtime whose nodes can simulate a failure while their agent runs: the Lease of a dead node is
// not renewed, and its pods are not updated. Real nodes fail together with their agents.
type FailureSimulator interface {
	Dead(node *corev1.Node) bool
}

// Observed is the state of a pod according to its runtime.
type Observed struct {
	// IPs are the pod's addresses, empty until assigned; HostIPs are those of its node.
	IPs, HostIPs []string
	// Containers are the containers that were ever started, by name, including init and ephemeral containers.
	Containers map[string]Container
	// Requeue is the time until the next predictable change; 0 if there is none.
	Requeue time.Duration
}

// Container is the state of a container according to its runtime.
type Container struct {
	// State has one of its three fields set, unless PullFailure is set. Waiting means that the container is being
	// started.
	State corev1.ContainerState
	// PullFailure is set after the container's image could not be pulled, until Start is called again.
	PullFailure *PullFailure
	// Last is how the container ended before its last restart, if it was restarted.
	Last corev1.ContainerState
	// Pull is the duration of the image pull for this start; 0 if the image was present.
	Pull time.Duration
	// Restarts is the number of restarts.
	Restarts int32
	// Started and Ready are the results of the probes while the container runs; without probes both are true.
	Started, Ready bool
	// ID and ImageID are the runtime's identifiers, such as containerd://..., empty for a container that
	// never ran.
	ID, ImageID string
}

// PullFailure is a failed attempt to pull the image of a container.
type PullFailure struct {
	Image string
	At    time.Time
	// Attempts is the number of attempts to pull this image for the container; all have failed.
	Attempts int
	// Never means that there was no attempt, because the container's imagePullPolicy is Never.
	Never bool
	// Message is the error, as shown to users.
	Message string
}

// waiting reports whether the container is being started or waits for its image.
func (c Container) waiting() bool { return c.State.Waiting != nil || c.PullFailure != nil }

// running reports whether the container runs or is being started.
func (c Container) running() bool { return c.State.Running != nil || c.State.Waiting != nil }

// hasRun reports whether the container runs or has run.
func (c Container) hasRun() bool {
	return c.State.Running != nil || c.State.Terminated != nil || c.Last.Terminated != nil
}

// ended returns how the container ended, or nil.
func (c Container) ended() *corev1.ContainerStateTerminated { return c.State.Terminated }

func (c Container) succeeded() bool { return c.ended() != nil && c.ended().ExitCode == 0 }
