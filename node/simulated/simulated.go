// Package simulated provides simulated nodes, for tests and for trying out controllers. Pods that are bound to
// them go through the same phases and report the same status as on real nodes, but nothing runs. Annotations
// or Options define what the containers do: how long they take to pull, start, become ready and stop, and
// when they crash or complete.
//
//	metadata:
//	  annotations:
//	    simulated.bowline.dev/start: 2s          # duration of each start; pull: 10s precedes the first one
//	    simulated.bowline.dev/ready: 5s          # time from start to ready, or never
//	    simulated.bowline.dev/crash-after: 1m    # time from each start to an exit with code 1; exit-code: "3" changes the code
//	    simulated.bowline.dev/crashes: "2"       # number of crashes; unlimited by default
//	    simulated.bowline.dev/complete-after: 5s # time from the start to an exit with code 0
//	    simulated.bowline.dev/image: missing     # the image cannot be pulled; present overrides Options.Images
//	    simulated.bowline.dev/stop: 10s          # time from a stop request to the exit, limited by the grace period
//	    simulated.bowline.dev/crash-after.proxy: 3s   # applies to the container proxy only
//
// A container whose command only sleeps, such as sleep 30 or sh -c "sleep 1m", runs for that time and exits with code 0;
// if it is stopped before, it exits with code 143. The commands true, false and sh -c "exit 3" end at once, with their
// code, and the image pause runs until it is stopped. Containers of Jobs with other commands run for Options.Job, and
// all others until they are stopped. A container that has exited is restarted if the pod's restartPolicy says so
// (Always also after code 0) with a kubelet's growing back-off.
//
// An image that does not exist, by Options.Images or an annotation, is reported as on real nodes: ErrImagePull, then
// ImagePullBackOff until the next attempt, after 10 seconds at first and 5 minutes at last. By default these images do
// not exist: those of registries whose name begins with invalid. or ends with .invalid, and those with the tag 404,
// nonexistent or non-existent. If a pod that waits gets another image, that is pulled at once.
//
// A container whose volume mounts have a subPathExpr that is an absolute path, contains "..", or uses a variable without
// a value waits as CreateContainerConfigError, as on real nodes, until an update of the pod corrects it.
//
// A resize of a pod applies at once if its node has room, and is deferred otherwise; the resize policy RestartContainer
// restarts the container. An ephemeral container, as of kubectl debug, runs until its pod ends if its command is not
// simple. Only annotations with its name apply to it.
//
// The annotations may be changed while the pod runs. On a Node, simulated.bowline.dev/dead: "true" simulates
// a failure: until the annotation is removed, the node's lease is not renewed and its pods are not updated.
//
// A simulated node has no goroutine of its own and waits only in the controller's queue: a thousand nodes cost little,
// and in a testing/synctest bubble they run in virtual time. They resemble those of KWOK. Every node is marked as
// simulated in its role, labels, version and conditions.
package simulated

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/node"
)

// Name is the source component of the Events that the nodes record.
const Name = "simulated-node"

// Options configures simulated nodes.
type Options struct {
	// Nodes is the number of nodes. They are named node-0, node-1, and so on.
	Nodes int
	// Capacity is the capacity of each node; nil means 32 CPUs, 256 GiB of memory, 110 pods and 1 TiB of
	// disk. The caller must not modify it after Add.
	Capacity corev1.ResourceList
	// Zones is the number of zones, zone-0 and so on, that the nodes are spread over; 0 means none.
	Zones int
	// Stages are the defaults, which annotations override. With the zero value, containers start
	// immediately and run until they are stopped.
	Stages Stages
	// Job is the run time of containers in the pods of Jobs, unless Stages.Ends is set; 0 means one second.
	Job time.Duration
	// Images are patterns of the images that exist; an asterisk matches any text. A pattern after a minus sign excludes
	// images. The last pattern that matches the image, as the pod spells it, decides; an image that none matches does
	// not exist. A list that begins with an exclusion adds to the default, DefaultImages, which nil means too. The
	// caller must not modify it after Add.
	Images []string
	// HeartbeatInterval is the interval at which nodes renew their leases; 0 means ten seconds.
	HeartbeatInterval time.Duration
	// Workers is the number of pods reconciled concurrently; 0 means 8.
	Workers int
}

// Add adds simulated nodes to a manager, which registers them when it runs. Call Add before Manager.Run, and at most
// once per server, because the node names would collide.
func Add(m *controller.Manager, o Options) {
	names := node.NodeNames(o.Nodes)
	node.Add(m, node.Options{
		Names: names, Runtime: newRuntime(o, names), LeaseInterval: o.HeartbeatInterval, Workers: o.Workers,
	})
}

// runtime simulates containers.
type runtime struct {
	options Options
	images  images

	mu    sync.Mutex
	hosts map[string]*host
	pods  map[types.UID]*pod
}

// pod is the state of a pod. It belongs to the worker that reconciles the pod; the runtime's lock guards the
// maps and hosts.
type pod struct {
	host       *host
	ip         string
	containers map[string]*container
}

func newRuntime(o Options, names []string) *runtime {
	if o.Job == 0 {
		o.Job = time.Second
	}
	r := &runtime{options: o, images: newImages(o.Images), hosts: map[string]*host{}, pods: map[types.UID]*pod{}}
	for i, name := range names {
		r.hosts[name] = &host{number: i}
	}
	return r
}

// Name implements node.Runtime.
func (r *runtime) Name() string { return Name }

// Notify implements node.Runtime. All changes are predictable, so it never calls the function.
func (r *runtime) Notify(func(types.NamespacedName)) {}

// Observe implements node.Runtime. It recovers a pod from its status if the pod ran on the node before the
// agent started.
func (r *runtime) Observe(declared *corev1.Pod) node.Observed {
	observed := node.Observed{}
	p := r.lookup(declared)
	if p == nil {
		return observed
	}
	now := time.Now()
	observed.HostIPs = []string{p.host.address()}
	observed.Containers = make(map[string]node.Container, len(p.containers))
	if p.ip != "" {
		observed.IPs = []string{p.ip}
	}
	for name, c := range p.containers {
		state, next := c.at(now, r.stagesOf(declared, name))
		observed.Containers[name] = state
		if next > 0 && (observed.Requeue == 0 || next < observed.Requeue) {
			observed.Requeue = next
		}
	}
	return observed
}

// Start implements node.Runtime.
func (r *runtime) Start(_ context.Context, declared *corev1.Pod, name string) error {
	p := r.lookup(declared)
	if p == nil {
		var err error
		if p, err = r.add(declared, ""); err != nil {
			return err
		}
	}
	now := time.Now()
	stages := r.stagesOf(declared, name)
	if c := p.containers[name]; c != nil {
		c.restart(now, stages)
		return nil
	}
	p.containers[name] = newContainer(fmt.Sprintf("simulated://%s/%s/%s", declared.Namespace, declared.Name, name), now,
		stages)
	return nil
}

// Stop implements node.Runtime.
func (r *runtime) Stop(_ context.Context, declared *corev1.Pod, name string, deadline time.Time) error {
	if p := r.lookup(declared); p != nil && p.containers[name] != nil {
		if p.containers[name].stop(time.Now(), deadline) {
			delete(p.containers, name)
		}
	}
	return nil
}

// Remove implements node.Runtime.
func (r *runtime) Remove(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.pods[uid]; p != nil {
		p.host.release(p.ip)
		delete(r.pods, uid)
	}
}

// lookup returns the state of a pod, or nil. It recovers a pod from its status, unless the pod has ended.
func (r *runtime) lookup(declared *corev1.Pod) *pod {
	r.mu.Lock()
	p := r.pods[declared.UID]
	r.mu.Unlock()
	phase := declared.Status.Phase
	if p == nil && declared.Status.PodIP != "" && phase != corev1.PodSucceeded && phase != corev1.PodFailed {
		p = r.restore(declared)
	}
	return p
}

// add adds the state of a pod on its node, with the given address if possible.
func (r *runtime) add(declared *corev1.Pod, ip string) (*pod, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	host := r.hosts[declared.Spec.NodeName]
	if host == nil {
		return nil, fmt.Errorf("there is no simulated node %s", declared.Spec.NodeName)
	}
	p := &pod{host: host, containers: map[string]*container{}}
	if !declared.Spec.HostNetwork {
		var err error
		if p.ip, err = host.allocate(ip); err != nil {
			return nil, fmt.Errorf("node %s: %w", declared.Spec.NodeName, err)
		}
	} else {
		p.ip = host.address()
	}
	r.pods[declared.UID] = p
	return p, nil
}

// restore recovers a pod from its status.
func (r *runtime) restore(declared *corev1.Pod) *pod {
	p, err := r.add(declared, declared.Status.PodIP)
	if err != nil {
		return nil
	}
	for _, statuses := range [][]corev1.ContainerStatus{declared.Status.InitContainerStatuses,
		declared.Status.ContainerStatuses, declared.Status.EphemeralContainerStatuses} {
		for i := range statuses {
			if c := restoreContainer(&statuses[i]); c != nil {
				p.containers[statuses[i].Name] = c
			}
		}
	}
	return p
}
