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

// life is what the agent remembers of a pod that its runtime knows.
type life struct {
	uid      types.UID
	wants    demand      // of its node
	admitted bool        // the node has taken it; changed with the agent's lock
	pod      *corev1.Pod // as it was last seen; nobody changes it
	backoffs map[string]Backoff
	stopping []string // containers, and people know of it
}

// reconcilePod takes a pod a step on in its life.
func (a *agent) reconcilePod(ctx context.Context, request controller.Request) (controller.Result, error) {
	a.begun.Do(a.recall)
	pod, there := a.pods.Indexer().Get(request)
	if !there || !a.cares(pod) {
		pod = nil
	}
	known := a.known(request)
	if known != nil && (pod == nil || pod.UID != known.pod.UID) {
		gone, again, err := a.bury(ctx, known)
		if !gone || err != nil {
			return controller.Result{RequeueAfter: again}, err
		}
		a.forget(request)
		known = nil
	}
	if pod == nil || a.onDeadNode(pod) {
		return controller.Result{}, nil
	}
	if known == nil {
		known = a.remember(request, pod)
	}
	known.pod = pod
	if refusal, err := a.admit(ctx, known); refusal != nil || err != nil {
		return controller.Result{}, cmp.Or(err, a.reject(ctx, pod, refusal))
	}
	return a.live(ctx, known)
}

// recall has the runtime look at the pods that ran before the agent began, before any other is given what they have.
func (a *agent) recall() {
	for name := range a.mine {
		for pod := range a.pods.Indexer().Each("node", name) {
			a.runtime.Observe(pod)
		}
	}
}

func (a *agent) onDeadNode(pod *corev1.Pod) bool {
	node, _ := a.nodes.Indexer().Get(informer.Key{Name: pod.Spec.NodeName})
	return a.dead(node)
}

func (a *agent) known(key informer.Key) *life {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lives[key]
}

// remember makes a life for a pod. One that ran before the agent began was taken by its node then.
func (a *agent) remember(key informer.Key, pod *corev1.Pod) *life {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := &life{uid: pod.UID, pod: pod, backoffs: map[string]Backoff{}, wants: demandOf(pod), admitted: pod.Status.StartTime != nil}
	a.lives[key] = l
	return l
}

func (a *agent) forget(key informer.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.lives, key)
}

// bury ends a pod that is in the API no more, by force or at its end.
func (a *agent) bury(ctx context.Context, l *life) (gone bool, again time.Duration, err error) {
	if l.pod.DeletionTimestamp == nil {
		l.pod = l.pod.DeepCopy()
		l.pod.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now().Add(grace(l.pod))))
	}
	seen, plan, err := a.advance(ctx, l)
	if err != nil || !plan.Ended {
		return false, plan.Again, err
	}
	a.runtime.Remove(seen.Pod.UID)
	return true, 0, nil
}

// live does for a pod what can be done now, and writes its status. What has ended leaves what it had of its node to others.
func (a *agent) live(ctx context.Context, l *life) (controller.Result, error) {
	seen, plan, failure := a.advance(ctx, l)
	if !seen.over() {
		status := Report(seen, plan)
		if current, err := a.write(ctx, seen, status); !current {
			return controller.Result{}, errors.Join(failure, err)
		}
		if plan.Ended && failure == nil && ended(status.Phase) {
			a.runtime.Remove(l.uid)
		}
	}
	if plan.Delete && failure == nil {
		failure = a.delete(ctx, l.pod)
	}
	return controller.Result{RequeueAfter: plan.Again}, failure
}

// advance starts and stops containers until nothing more can be done at once, and returns what it saw last.
func (a *agent) advance(ctx context.Context, l *life) (Seen, Plan, error) {
	var asked []string
	for round := 0; ; round++ {
		seen := Seen{Pod: l.pod, Observed: a.runtime.Observe(l.pod), Backoffs: l.backoffs, Now: time.Now()}
		plan := Decide(seen)
		idle := len(plan.Start) == 0 && !slices.ContainsFunc(plan.Stop, func(name string) bool { return !slices.Contains(asked, name) })
		if idle || round > 2*len(names(l.pod)) {
			return seen, plan, nil
		}
		asked = append(asked, plan.Stop...)
		if err := a.do(ctx, l, plan); err != nil {
			return seen, plan, err
		}
	}
}

func (a *agent) do(ctx context.Context, l *life, plan Plan) error {
	for _, name := range plan.Start {
		if err := a.runtime.Start(ctx, l.pod, name); err != nil {
			a.events.Warning(l.pod, "Failed", "Error: %v", err)
			return fmt.Errorf("starting container %s: %w", name, err)
		}
		if backoff, again := plan.Backoffs[name]; again {
			l.backoffs[name] = backoff
		}
	}
	for _, name := range plan.Stop {
		if err := a.runtime.Stop(ctx, l.pod, name, plan.Deadline); err != nil {
			return fmt.Errorf("stopping container %s: %w", name, err)
		}
		if !slices.Contains(l.stopping, name) {
			l.stopping = append(l.stopping, name)
			a.events.Normal(l.pod, "Killing", "Stopping container %s", name)
		}
	}
	return nil
}

// write writes the status of a pod if it is another one, and says whether it is the pod's now. Who has changed the pod meanwhile
// has woken this up again: nothing that follows from the status is done before that.
func (a *agent) write(ctx context.Context, seen Seen, status corev1.PodStatus) (current bool, err error) {
	if equality.Semantic.DeepEqual(status, seen.Pod.Status) {
		return true, nil
	}
	changed := *seen.Pod
	changed.Status = status
	_, err = a.writePod.UpdateStatus(ctx, &changed, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		a.tell(seen, status)
	}
	return err == nil, err
}

// delete removes a pod that has ended, if it is still the same.
func (a *agent) delete(ctx context.Context, pod *corev1.Pod) error {
	err := a.writePod.Delete(ctx, pod.Namespace, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
