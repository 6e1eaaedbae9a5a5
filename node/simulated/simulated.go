// Package simulated has nodes that are none: a node.Runtime that runs nothing. Pods that are bound to them go through the same
// phases as anywhere, in the same order and under the same rules, but what their containers do is what their annotations say,
// or the options: how long to pull and to start, when to be ready, to crash, to complete, how long to end.
//
//	metadata:
//	  annotations:
//	    simulated.bowline.dev/start: 2s          # to start each container; pull: 10s is before the first start
//	    simulated.bowline.dev/ready: 5s          # ready so long after that; never is never
//	    simulated.bowline.dev/crash-after: 1m    # exit code 1 so long after each start; exit-code: "3" is another one
//	    simulated.bowline.dev/crashes: "2"       # so often; without it always
//	    simulated.bowline.dev/complete-after: 5s # exit code 0 so long after the start
//	    simulated.bowline.dev/stop: 10s          # from being asked to end until it does; the grace period is the limit
//	    simulated.bowline.dev/crash-after.proxy: 3s   # of the container proxy alone
//
// They may be changed while the pod runs. On a Node, simulated.bowline.dev/dead: "true" makes it dead: its heartbeat stops, and
// nobody cares for its pods, until the annotation is gone.
//
// All waiting is in the agent's queue: in a testing/synctest bubble it is virtual time, and a thousand nodes have no goroutine.
// It is in the manner of KWOK, and every node says that it is simulated: in its role, its labels, its version and its conditions.
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

// Name of the agent in what it tells people: it is the component of its events.
const Name = "simulated-node"

// Options of simulated nodes.
type Options struct {
	// Nodes is how many there are. They are called node-0, node-1, and so on.
	Nodes int
	// Capacity is what each has; nil means 32 CPUs, 256 GiB of memory, 110 pods and 1 TiB of disk.
	Capacity corev1.ResourceList
	// Zones is over how many zones they are spread, zone-0 and so on; 0 means none.
	Zones int
	// Stages are those of containers whose pod says nothing else. The zero value runs at once, and until it is stopped.
	Stages Stages
	// Job is after how long the containers of a Job's pods complete; 0 means one second.
	Job time.Duration
	// Beat and Workers are the agent's.
	Beat    time.Duration
	Workers int
}

// Add adds simulated nodes, and their agent, to a manager.
func Add(m *controller.Manager, o Options) {
	names := node.NodeNames(o.Nodes)
	node.Add(m, node.Options{Names: names, Runtime: newRuntime(o, names), Beat: o.Beat, Workers: o.Workers})
}

// runtime is what the nodes pretend.
type runtime struct {
	options Options

	mu    sync.Mutex
	hosts map[string]*host
	pods  map[types.UID]*pod
}

// pod is what runs of a pod. It belongs to who is at that pod; the runtime's lock is for its maps and hosts.
type pod struct {
	host       *host
	ip         string
	containers map[string]*container
}

func newRuntime(o Options, names []string) *runtime {
	if o.Job == 0 {
		o.Job = time.Second
	}
	r := &runtime{options: o, hosts: map[string]*host{}, pods: map[types.UID]*pod{}}
	for i, name := range names {
		r.hosts[name] = &host{number: i}
	}
	return r
}

// Name implements node.Runtime.
func (r *runtime) Name() string { return Name }

// Notify implements node.Runtime. Everything that happens here is known before: nobody is notified.
func (r *runtime) Notify(func(types.NamespacedName)) {}

// Observe implements node.Runtime. A pod that is not known, and has run by its status, ran on this node before the agent began.
func (r *runtime) Observe(declared *corev1.Pod) node.Observed {
	seen := node.Observed{}
	p := r.known(declared)
	if p == nil {
		return seen
	}
	now := time.Now()
	seen.HostIPs, seen.Containers = []string{p.host.address()}, make(map[string]node.Container, len(p.containers))
	if p.ip != "" {
		seen.IPs = []string{p.ip}
	}
	for name, c := range p.containers {
		state, next := c.at(now, r.stagesOf(declared, name))
		seen.Containers[name] = state
		if next > 0 && (seen.Again == 0 || next < seen.Again) {
			seen.Again = next
		}
	}
	return seen
}

// Start implements node.Runtime.
func (r *runtime) Start(_ context.Context, declared *corev1.Pod, name string) error {
	p := r.known(declared)
	if p == nil {
		var err error
		if p, err = r.admit(declared, ""); err != nil {
			return err
		}
	}
	now := time.Now()
	stages := r.stagesOf(declared, name)
	if c := p.containers[name]; c != nil {
		c.restart(now, stages)
		return nil
	}
	p.containers[name] = newContainer(fmt.Sprintf("simulated://%s/%s/%s", declared.Namespace, declared.Name, name), now, stages)
	return nil
}

// Stop implements node.Runtime.
func (r *runtime) Stop(_ context.Context, declared *corev1.Pod, name string, deadline time.Time) error {
	if p := r.known(declared); p != nil && p.containers[name] != nil {
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

// known is what runs of a pod, or nil. Of one that has ended nothing does: what is not known of it is nothing.
func (r *runtime) known(declared *corev1.Pod) *pod {
	r.mu.Lock()
	p := r.pods[declared.UID]
	r.mu.Unlock()
	phase := declared.Status.Phase
	if p == nil && declared.Status.PodIP != "" && phase != corev1.PodSucceeded && phase != corev1.PodFailed {
		p = r.recall(declared)
	}
	return p
}

// admit makes room for a pod on its node, at a certain address if it has one.
func (r *runtime) admit(declared *corev1.Pod, ip string) (*pod, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	host := r.hosts[declared.Spec.NodeName]
	if host == nil {
		return nil, fmt.Errorf("there is no simulated node %s", declared.Spec.NodeName)
	}
	p := &pod{host: host, containers: map[string]*container{}}
	if !declared.Spec.HostNetwork {
		var err error
		if p.ip, err = host.take(ip); err != nil {
			return nil, fmt.Errorf("node %s: %w", declared.Spec.NodeName, err)
		}
	} else {
		p.ip = host.address()
	}
	r.pods[declared.UID] = p
	return p, nil
}

// recall knows a pod again by its status.
func (r *runtime) recall(declared *corev1.Pod) *pod {
	p, err := r.admit(declared, declared.Status.PodIP)
	if err != nil {
		return nil
	}
	for _, statuses := range [][]corev1.ContainerStatus{declared.Status.InitContainerStatuses, declared.Status.ContainerStatuses} {
		for i := range statuses {
			if c := recalled(&statuses[i]); c != nil {
				p.containers[statuses[i].Name] = c
			}
		}
	}
	return p
}
