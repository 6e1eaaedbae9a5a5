package node

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/informer"
)

// resizeRetry is the interval at which a deferred resize is checked again, as by a kubelet. It is also checked when
// another pod releases resources.
const resizeRetry = 3 * time.Minute

// resize is the state of the resizes of a pod. The zero value has none.
type resize struct {
	// Pending is why the node has no room for the resources in the pod's spec; nil if they are allocated.
	Pending *refusal
	// Restarts are the containers that get their new resources by a restart, which is not complete. Generation is the
	// generation of the pod that has these resources.
	Restarts   []string
	Generation int64
}

// allocate sets l.pod, the pod that the agent works with, to the pod from the API with the resources that the node has
// allocated to it. If the pod was resized, it allocates the new resources if the node has room for them. Containers
// get them at once, or by a restart if their resize policy requires one.
func (a *agent) allocate(l *podState, pod *corev1.Pod) {
	before := l.pod
	if pod.Generation == before.Generation && l.resize.Pending == nil {
		l.pod = pod
		return
	}
	allocated := withResources(pod, before.Spec.Resources, func(name string) *corev1.ResourceRequirements {
		if c := containerNamed(before, name); c != nil {
			return &c.Resources
		}
		return nil
	})
	switch {
	case allocated == pod: // no resize, or a pending one was reverted
		a.withdrawResize(l, pod)
	case !l.admitted:
		l.pod, l.wants = pod, demandOf(pod)
	case l.final != "" || pod.DeletionTimestamp != nil:
		l.pod = allocated
	default:
		a.resize(l, pod, allocated)
	}
}

// withdrawResize forgets a pending resize of a pod.
func (a *agent) withdrawResize(l *podState, pod *corev1.Pod) {
	l.pod = pod
	if l.resize.Pending == nil {
		return
	}
	l.resize.Pending = nil
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.deferred, informer.KeyOf(pod))
}

// resize allocates the resources of a pod's spec in place of those that were allocated before, or defers that until
// the node has room.
func (a *agent) resize(l *podState, pod, allocated *corev1.Pod) {
	node, found := a.nodes.Indexer().Get(informer.Key{Name: pod.Spec.NodeName})
	if !found {
		node = a.describe(pod.Spec.NodeName, pod.CreationTimestamp.Time)
		node.Status.Allocatable = node.Status.Capacity
	}
	had, wants := l.wants, demandOf(pod)
	if r := a.fits(l, pod, wants, node); r != nil {
		l.pod, l.resize.Pending = allocated, r
		if !isDeferred(pod) {
			a.events.Warning(pod, "ResizeDeferred", "%s", resizeMessage(pod, pod.Generation, r.Reason, r.Message))
		}
		return
	}
	running := a.runtime.Observe(allocated).Containers
	restarts := l.resize.Restarts
	for _, name := range restartedBy(pod, allocated) {
		if running[name].State.Running != nil && !slices.Contains(restarts, name) {
			restarts = append(slices.Clone(restarts), name)
		}
	}
	l.pod, l.resize = pod, resize{Restarts: restarts, Generation: pod.Generation}
	a.events.Normal(pod, "ResizeStarted", "%s", resizeMessage(pod, pod.Generation, "started", ""))
	if len(restarts) == 0 {
		a.events.Normal(l.pod, "ResizeCompleted", "%s",
			resizeMessage(l.pod, l.resize.Generation, "completed", ""))
	}
	for _, name := range compute {
		if wants.amounts[name] < had.amounts[name] {
			a.retryResizes()
			return
		}
	}
}

// isDeferred reports whether the status of a pod shows that its newest resize is deferred.
func isDeferred(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizePending && c.ObservedGeneration == pod.Generation
	})
}

// retryResizes triggers a reconcile of the pods with a deferred resize, after another pod has released resources.
func (a *agent) retryResizes() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.deferred {
		a.changed.Add(key)
	}
}

// restarted records that a container was started, which completes its resize.
func (a *agent) restarted(l *podState, name string) {
	if !slices.Contains(l.resize.Restarts, name) {
		return
	}
	is := func(other string) bool { return other == name }
	l.resize.Restarts = slices.DeleteFunc(slices.Clone(l.resize.Restarts), is)
	l.stopping = slices.DeleteFunc(slices.Clone(l.stopping), is)
	if len(l.resize.Restarts) == 0 {
		a.events.Normal(l.pod, "ResizeCompleted", "%s",
			resizeMessage(l.pod, l.resize.Generation, "completed", ""))
	}
}

// resizeMessage returns the message of an event about a resize, with the resources in the pod's spec.
func resizeMessage(pod *corev1.Pod, generation int64, what, failure string) string {
	type container struct {
		Name      string                      `json:"name"`
		Resources corev1.ResourceRequirements `json:"resources"`
	}
	var summary struct {
		InitContainers []container `json:"initContainers,omitempty"`
		Containers     []container `json:"containers,omitempty"`
		Generation     int64       `json:"generation"`
		Error          string      `json:"error,omitempty"`
	}
	for _, c := range pod.Spec.InitContainers {
		summary.InitContainers = append(summary.InitContainers, container{c.Name, c.Resources})
	}
	for _, c := range pod.Spec.Containers {
		summary.Containers = append(summary.Containers, container{c.Name, c.Resources})
	}
	summary.Generation, summary.Error = generation, failure
	text, err := json.Marshal(summary)
	if err != nil {
		return "Pod resize " + what
	}
	return "Pod resize " + what + ": " + string(text)
}

// setResizeConditions sets or removes the conditions PodResizePending and PodResizeInProgress.
func setResizeConditions(status *corev1.PodStatus, s input) {
	over := isTerminal(status.Phase)
	pending, progress := condition(corev1.PodResizePending, true, corev1.PodReasonDeferred, ""),
		condition(corev1.PodResizeInProgress, true, "", "")
	if r := s.Resize.Pending; r != nil {
		pending.Message = r.Message
	}
	progress.ObservedGeneration = s.Resize.Generation
	set := func(c corev1.PodCondition, is bool) {
		if is {
			c.LastProbeTime = metav1.NewTime(s.Now).Rfc3339Copy()
			setCondition(status, s, c)
			return
		}
		status.Conditions = slices.DeleteFunc(status.Conditions, func(old corev1.PodCondition) bool {
			return old.Type == c.Type
		})
	}
	set(pending, s.Resize.Pending != nil && !over)
	set(progress, !over && slices.ContainsFunc(s.Resize.Restarts, func(name string) bool {
		return s.Containers[name].State.Running != nil
	}))
}

// withResources returns the pod with the given resources, or the pod itself if it has them. of returns the resources of
// a container, or nil if they stay.
func withResources(pod *corev1.Pod, level *corev1.ResourceRequirements,
	of func(name string) *corev1.ResourceRequirements) *corev1.Pod {
	changed := *pod
	same := true
	if !equality.Semantic.DeepEqual(pod.Spec.Resources, level) {
		changed.Spec.Resources, same = level, false
	}
	for _, list := range []*[]corev1.Container{&changed.Spec.InitContainers, &changed.Spec.Containers} {
		all := *list
		for i := range all {
			r := of(all[i].Name)
			if r == nil || equality.Semantic.DeepEqual(r, &all[i].Resources) {
				continue
			}
			other := slices.Clone(*list)
			other[i].Resources = *r
			*list, same = other, false
		}
	}
	if same {
		return pod
	}
	return &changed
}

// recoverAllocation returns a pod with the resources that its status shows: what the node had allocated to the pod
// before the agent started.
func recoverAllocation(pod *corev1.Pod) *corev1.Pod {
	if pod.Status.StartTime == nil || isTerminal(pod.Status.Phase) {
		return pod
	}
	level := pod.Spec.Resources
	if level != nil && pod.Status.Resources != nil {
		level = level.DeepCopy()
		for _, name := range compute {
			replace(level.Requests, pod.Status.Resources.Requests, name)
			replace(level.Limits, pod.Status.Resources.Limits, name)
		}
	}
	return withResources(pod, level, func(name string) *corev1.ResourceRequirements {
		for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses,
			pod.Status.ContainerStatuses} {
			for i := range list {
				if list[i].Name == name {
					return list[i].Resources
				}
			}
		}
		return nil
	})
}

// replace replaces the quantity of a resource that both lists have.
func replace(list, by corev1.ResourceList, name corev1.ResourceName) {
	_, has := list[name]
	if quantity, ok := by[name]; ok && has {
		list[name] = quantity
	}
}

// restartedBy returns the containers that a resize between two versions of a pod restarts, according to their resize
// policies.
func restartedBy(pod, before *corev1.Pod) (restarted []string) {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			c := &list[i]
			was := containerNamed(before, c.Name)
			if was != nil && slices.ContainsFunc(c.ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
				return p.RestartPolicy == corev1.RestartContainer && slices.Contains(compute, p.ResourceName) &&
					resized(pod, before, c, was, p.ResourceName)
			}) {
				restarted = append(restarted, c.Name)
			}
		}
	}
	return restarted
}

// resized reports whether the request or the limit of a container differs between two versions of a pod. A container
// without a limit has that of the pod.
func resized(pod, before *corev1.Pod, c, was *corev1.Container, name corev1.ResourceName) bool {
	limit := func(pod *corev1.Pod, c *corev1.Container) resource.Quantity {
		q := c.Resources.Limits[name]
		if q.IsZero() && pod.Spec.Resources != nil {
			q = pod.Spec.Resources.Limits[name]
		}
		return q
	}
	requests, old := c.Resources.Requests[name], was.Resources.Requests[name]
	limits, oldLimit := limit(pod, c), limit(before, was)
	return requests.Cmp(old) != 0 || limits.Cmp(oldLimit) != 0
}

// containerNamed returns an init or regular container of a pod, or nil.
func containerNamed(pod *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
