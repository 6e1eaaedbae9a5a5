package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// resources are the amounts that nodes offer and pods request.
type resources struct {
	cpu             int64 // millicores
	memory, storage int64 // bytes
	others          map[corev1.ResourceName]int64
}

// amounts converts a resource list, without the number of pods.
func amounts(list corev1.ResourceList) (r resources) {
	for name, quantity := range list {
		switch name {
		case corev1.ResourceCPU:
			r.cpu = quantity.MilliValue()
		case corev1.ResourceMemory:
			r.memory = quantity.Value()
		case corev1.ResourceEphemeralStorage:
			r.storage = quantity.Value()
		case corev1.ResourcePods:
		default:
			r.addOther(name, quantity.Value())
		}
	}
	return r
}

func (r *resources) addOther(name corev1.ResourceName, amount int64) {
	if r.others == nil {
		r.others = map[corev1.ResourceName]int64{}
	}
	r.others[name] += amount
}

// add adds the amounts, multiplied by times; -1 subtracts them.
func (r *resources) add(o *resources, times int64) {
	r.cpu += times * o.cpu
	r.memory += times * o.memory
	r.storage += times * o.storage
	for name, amount := range o.others {
		r.addOther(name, times*amount)
	}
}

// defaultRequests are the requests that scores assume for a container without any, as in Kubernetes. Otherwise all such
// pods would go to one node.
var defaultRequests = corev1.ResourceList{
	corev1.ResourceCPU:    resource.MustParse("100m"),
	corev1.ResourceMemory: resource.MustParse("200Mi"),
}

// needs returns a pod's requests, and the amounts that it counts as in scores.
func needs(pod *corev1.Pod) (need, weight resources) {
	need = amounts(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}))
	if need.cpu > 0 && need.memory > 0 && len(pod.Spec.Containers) == 1 && len(pod.Spec.InitContainers) == 0 {
		return need, resources{cpu: need.cpu, memory: need.memory}
	}
	with := amounts(resourcehelper.PodRequests(pod,
		resourcehelper.PodResourcesOptions{NonMissingContainerRequests: defaultRequests}))
	return need, resources{cpu: with.cpu, memory: with.memory}
}

// lacks returns the resources that a node has too little of for a pod. final is true if even the empty node
// would not have enough.
func (n *Node) lacks(p *Pod) (short []string, final bool) {
	if len(n.Pods)+1 > n.maxPods {
		short = append(short, "Too many pods")
	}
	compare := func(name corev1.ResourceName, need, used, room int64) {
		if need > 0 && need > room-used {
			short = append(short, "Insufficient "+string(name))
			final = final || need > room
		}
	}
	compare(corev1.ResourceCPU, p.requests.cpu, n.used.cpu, n.allocatable.cpu)
	compare(corev1.ResourceMemory, p.requests.memory, n.used.memory, n.allocatable.memory)
	compare(corev1.ResourceEphemeralStorage, p.requests.storage, n.used.storage, n.allocatable.storage)
	for name, need := range p.requests.others {
		compare(name, need, n.used.others[name], n.allocatable.others[name])
	}
	return short, final
}

// hostPort is a node port that a container reserves.
type hostPort struct {
	ip       string
	protocol corev1.Protocol
	port     int32
}

const everyAddress = "0.0.0.0"

// hostPorts returns the node ports of a pod.
func hostPorts(pod *corev1.Pod) (ports []hostPort) {
	read := func(c *corev1.Container) {
		for _, port := range c.Ports {
			if port.HostPort == 0 {
				continue
			}
			p := hostPort{port.HostIP, port.Protocol, port.HostPort}
			if p.ip == "" {
				p.ip = everyAddress
			}
			if p.protocol == "" {
				p.protocol = corev1.ProtocolTCP
			}
			ports = append(ports, p)
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			read(c)
		}
	}
	for i := range pod.Spec.Containers {
		read(&pod.Spec.Containers[i])
	}
	return ports
}

// clash reports whether two host ports conflict.
func (p hostPort) clash(o hostPort) bool {
	return p.port == o.port && p.protocol == o.protocol &&
		(p.ip == o.ip || p.ip == everyAddress || o.ip == everyAddress)
}

// hasPortConflict reports whether one of the pod's host ports is in use.
func (n *Node) hasPortConflict(p *Pod) bool {
	for _, port := range p.ports {
		if slices.ContainsFunc(n.ports, port.clash) {
			return true
		}
	}
	return false
}
