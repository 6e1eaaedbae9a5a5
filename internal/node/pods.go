package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// podState is the agent's state of a pod that its runtime knows.
type podState struct {
	uid      types.UID
	wants    demand      // requests from the node; guarded by agent.mu once admitted
	admitted bool        // the node has admitted it; guarded by agent.mu
	pod      *corev1.Pod // as last observed, with the resources that the node has allocated; immutable
	resize   resize
	backoffs map[string]backoff
	stopping []string        // containers whose Killing event was recorded
	final    corev1.PodPhase // the terminal phase that it has reached
}

// reconcilePod executes the next step for a pod.
func (a *agent) reconcilePod(ctx context.Context, request controller.Request) (controller.Result, error) {
	a.recovered.Do(a.recoverPods)
	pod, found := a.pods.Indexer().Get(request)
	if !found || !a.manages(pod) {
		pod = nil
	}
	known := a.tracked(request)
	if known != nil && (pod == nil || pod.UID != known.pod.UID) {
		stopped, retryAfter, err := a.stopDeleted(ctx, known)
		if !stopped || err != nil {
			return controller.Result{RequeueAfter: retryAfter}, err
		}
		a.untrack(request)
		known = nil
	}
	if pod == nil || isTerminal(pod.Status.Phase) {
		a.retryResizes()
	}
	if pod == nil || a.onDeadNode(pod) {
		return controller.Result{}, nil
	}
	if known == nil {
		known = a.track(request, pod)
	}
	if known.final == "" && isTerminal(pod.Status.Phase) {
		known.final = pod.Status.Phase
	}
	a.allocate(known, pod)
	if refusal, err := a.admit(ctx, known); refusal != nil || err != nil {
		return controller.Result{}, cmp.Or(err, a.reject(ctx, pod, refusal))
	}
	return a.reconcileLive(ctx, known)
}

// recoverPods lets the runtime recover the pods that ran before the agent started, so that it assigns their
// resources, such as addresses, to no other pod.
func (a *agent) recoverPods() {
	for name := range a.members {
		for pod := range a.pods.Indexer().Each("node", name) {
			a.runtime.Observe(pod)
		}
	}
}

func (a *agent) onDeadNode(pod *corev1.Pod) bool {
	node, _ := a.nodes.Indexer().Get(informer.Key{Name: pod.Spec.NodeName})
	return a.dead(node)
}

func (a *agent) tracked(key informer.Key) *podState {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lives[key]
}

// track adds the state of a pod. A pod that ran before the agent started counts as admitted.
func (a *agent) track(key informer.Key, pod *corev1.Pod) *podState {
	a.mu.Lock()
	defer a.mu.Unlock()
	allocated := recoverAllocation(pod)
	l := &podState{uid: pod.UID, pod: allocated, backoffs: map[string]backoff{}, wants: demandOf(allocated),
		admitted: pod.Status.StartTime != nil}
	if allocated != pod {
		l.resize.Pending = &refusal{} // allocate checks it
	}
	a.lives[key] = l
	return l
}

func (a *agent) untrack(key informer.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.lives, key)
	delete(a.deferred, key)
}

// stopDeleted stops a pod that no longer exists in the API, and removes it from the runtime once nothing runs.
func (a *agent) stopDeleted(ctx context.Context, l *podState) (stopped bool, retryAfter time.Duration, err error) {
	if l.pod.DeletionTimestamp == nil {
		l.pod = l.pod.DeepCopy()
		l.pod.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now().Add(grace(l.pod))))
	}
	observed, plan, err := a.advance(ctx, l)
	if err != nil || !plan.Ended {
		return false, plan.Again, err
	}
	a.runtime.Remove(observed.Pod.UID)
	return true, 0, nil
}

// reconcileLive executes what can be done for a pod now and writes its status. A pod that has ended is removed from
// the runtime, which frees its resources.
func (a *agent) reconcileLive(ctx context.Context, l *podState) (controller.Result, error) {
	observed, plan, failure := a.advance(ctx, l)
	if !observed.over() {
		status := newStatus(observed, plan)
		if current, err := a.write(ctx, observed, status); !current {
			return controller.Result{}, errors.Join(failure, err)
		}
		if plan.Ended && failure == nil && isTerminal(status.Phase) {
			a.runtime.Remove(l.uid)
		}
	}
	if plan.Delete && failure == nil {
		failure = a.delete(ctx, l.pod)
	}
	return controller.Result{RequeueAfter: plan.Again}, failure
}

// advance starts and stops containers until nothing more can be done immediately, and returns the last
// observation and plan.
func (a *agent) advance(ctx context.Context, l *podState) (input, plan, error) {
	var stopping []string
	for round := 0; ; round++ {
		observed := input{Pod: l.pod, Observed: a.runtime.Observe(l.pod), Backoffs: l.backoffs, Final: l.final,
			Resize: l.resize, Now: time.Now()}
		plan := decide(observed)
		idle := len(plan.Start) == 0 && !slices.ContainsFunc(plan.Stop, func(name string) bool {
			return !slices.Contains(stopping, name)
		})
		if idle || round > 2*(len(names(l.pod))+len(l.pod.Spec.EphemeralContainers)) {
			return observed, plan, nil
		}
		stopping = append(stopping, plan.Stop...)
		if err := a.execute(ctx, l, plan); err != nil {
			return observed, plan, err
		}
	}
}

func (a *agent) execute(ctx context.Context, l *podState, plan plan) error {
	for _, name := range plan.Start {
		if err := a.runtime.Start(ctx, l.pod, name); err != nil {
			a.events.Warning(l.pod, "Failed", "Error: %v", err)
			return fmt.Errorf("starting container %s: %w", name, err)
		}
		if backoff, restarted := plan.Backoffs[name]; restarted {
			l.backoffs[name] = backoff
		}
		a.restarted(l, name)
	}
	for _, name := range plan.Stop {
		if err := a.runtime.Stop(ctx, l.pod, name, plan.Deadline); err != nil {
			return fmt.Errorf("stopping container %s: %w", name, err)
		}
		if !slices.Contains(l.stopping, name) {
			l.stopping = append(l.stopping, name)
			if plan.Resizes {
				a.events.Normal(l.pod, "Killing", "Container %s resize requires restart", name)
				continue
			}
			a.events.Normal(l.pod, "Killing", "Stopping container %s", name)
		}
	}
	return nil
}

// write updates the status of a pod if it has changed. current is false if the pod was modified in the
// meantime; that event triggers another reconcile, before which nothing that depends on the status may be
// done.
func (a *agent) write(ctx context.Context, observed input, status corev1.PodStatus) (current bool, err error) {
	if equality.Semantic.DeepEqual(status, observed.Pod.Status) {
		return true, nil
	}
	changed := *observed.Pod
	changed.Status = status
	_, err = a.writePod.UpdateStatus(ctx, &changed, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		a.recordEvents(observed, status)
	}
	return err == nil, err
}

// delete deletes a pod that has ended from the API, with its uid as precondition.
func (a *agent) delete(ctx context.Context, pod *corev1.Pod) error {
	err := a.writePod.Delete(ctx, pod.Namespace, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
