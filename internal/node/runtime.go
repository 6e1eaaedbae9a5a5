package node

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Runtime runs the containers of pods. It does what it is told at once and does not wait for it to be done: Observe says how
// far that is. Everything may be asked for again; asked for twice is done once. It is used by many goroutines, but by one at a
// time for each pod. A pod is known by its uid: the next one of its name is another.
type Runtime interface {
	// Name is what the agent is called where it tells people something: the component of its events.
	Name() string
	// Describe completes a Node before it is registered: its labels and annotations, and in its status what it has (capacity),
	// where it is reached (addresses), and what it is (nodeInfo). Why it is ready is the message of its condition Ready.
	Describe(node *corev1.Node) (ready string)
	// Observe is how a pod is now. A runtime that outlives its agent, or whose agent begins anew, knows its pods again: it is asked
	// about all of them before anything is started.
	Observe(pod *corev1.Pod) Observed
	// Start fetches the image of a container and starts it, unless it runs or is being started. One that has ended is started
	// once more. The first container of a pod that is started gives it its address.
	Start(ctx context.Context, pod *corev1.Pod, container string) error
	// Stop asks a container to end, and ends it when the deadline has come. Of several deadlines the earliest counts.
	Stop(ctx context.Context, pod *corev1.Pod, container string, deadline time.Time) error
	// Remove forgets a pod of which nothing runs, nor ever will: others get what it had. It may be observed after that.
	Remove(pod types.UID)
	// Notify has f called whenever a pod may have changed by itself. It is called once, before all else but Describe. A runtime
	// that always knows when that will be says so in Observed.Again instead.
	Notify(f func(pod types.NamespacedName))
}

// Dying is a Runtime whose nodes can be dead while their agent runs: nothing renews the Lease of such a node, and nobody cares
// for its pods. Real nodes die with their agents.
type Dying interface {
	Dead(node *corev1.Node) bool
}

// Observed is a pod as its runtime sees it.
type Observed struct {
	// IPs are the pod's addresses, none until it has them; HostIPs those of its node.
	IPs, HostIPs []string
	// Containers are those that were started once, by name, init containers too.
	Containers map[string]Container
	// Again is in how long the pod changes by itself; 0 when that is not known.
	Again time.Duration
}

// Container is a container as its runtime sees it.
type Container struct {
	// State has one of its three fields set. Waiting is one that was told to start and does not run yet.
	State corev1.ContainerState
	// Last is how the container ended before it was started again, if it was.
	Last corev1.ContainerState
	// Pull is how long it takes, or took, to fetch its image for this start; 0 when that was there.
	Pull time.Duration
	// Restarts is how often it was started again.
	Restarts int32
	// Started and Ready are what its probes say while it runs; without probes both are true then.
	Started, Ready bool
	// ID and ImageID are the runtime's own, such as containerd://..., empty for what never ran.
	ID, ImageID string
}

// running says whether there is something to stop.
func (c Container) running() bool { return c.State.Running != nil || c.State.Waiting != nil }

// ended is how a container ended, or nil.
func (c Container) ended() *corev1.ContainerStateTerminated { return c.State.Terminated }

func (c Container) succeeded() bool { return c.ended() != nil && c.ended().ExitCode == 0 }
