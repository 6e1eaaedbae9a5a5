package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// life is what the agent remembers of a pod that its runtime knows.
type life struct {
	pod      *corev1.Pod // as it was last seen; nobody changes it
	backoffs map[string]Backoff
	stopping bool // and people know of it
}

// reconcilePod takes a pod a step on in its life.
func (a *agent) reconcilePod(ctx context.Context, request controller.Request) (controller.Result, error) {
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
		known = a.remember(request)
	}
	known.pod = pod
	return a.live(ctx, known)
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

func (a *agent) remember(key informer.Key) *life {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lives[key] = &life{backoffs: map[string]Backoff{}}
	return a.lives[key]
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

// live does for a pod what can be done now, and writes its status.
func (a *agent) live(ctx context.Context, l *life) (controller.Result, error) {
	seen, plan, failure := a.advance(ctx, l)
	status := Report(seen, plan)
	if err := a.write(ctx, l.pod, status); err != nil {
		return controller.Result{}, errors.Join(failure, err)
	}
	if plan.Delete && failure == nil {
		failure = a.delete(ctx, l.pod)
	}
	return controller.Result{RequeueAfter: plan.Again}, failure
}

// advance starts and stops containers until nothing more can be done at once, and returns what it saw last.
func (a *agent) advance(ctx context.Context, l *life) (Seen, Plan, error) {
	stopped := false
	for round := 0; ; round++ {
		seen := Seen{Pod: l.pod, Observed: a.runtime.Observe(l.pod), Backoffs: l.backoffs, Now: time.Now()}
		plan := Decide(seen)
		idle := len(plan.Start) == 0 && (len(plan.Stop) == 0 || stopped)
		if idle || round > 2*len(names(l.pod)) {
			return seen, plan, nil
		}
		stopped = len(plan.Stop) > 0
		if err := a.do(ctx, l, plan); err != nil {
			return seen, plan, err
		}
	}
}

func (a *agent) do(ctx context.Context, l *life, plan Plan) error {
	for _, name := range plan.Start {
		if err := a.runtime.Start(ctx, l.pod, name); err != nil {
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
		if !l.stopping {
			a.events.Normal(l.pod, "Killing", "Stopping container %s", name)
		}
	}
	l.stopping = l.stopping || len(plan.Stop) > 0
	return nil
}

// write writes the status of a pod if it is another one. Who has changed the pod meanwhile has woken this up again.
func (a *agent) write(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	if equality.Semantic.DeepEqual(status, pod.Status) {
		return nil
	}
	changed := *pod
	changed.Status = status
	_, err := a.writePod.UpdateStatus(ctx, &changed, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		a.tell(pod, status)
	}
	return err
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

// tell tells people what has become of containers, as a kubelet does.
func (a *agent) tell(pod *corev1.Pod, status corev1.PodStatus) {
	before := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for _, now := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		var was corev1.ContainerStatus
		if at := slices.IndexFunc(before, func(c corev1.ContainerStatus) bool { return c.Name == now.Name }); at >= 0 {
			was = before[at]
		}
		switch {
		case now.State.Running != nil && (was.State.Running == nil || now.RestartCount > was.RestartCount):
			a.events.Normal(pod, "Started", "Started container %s", now.Name)
		case now.State.Waiting != nil && now.State.Waiting.Reason == crashLoop && (was.State.Waiting == nil || was.State.Waiting.Reason != crashLoop):
			a.events.Warning(pod, "BackOff", "Back-off restarting failed container %s in pod %s_%s(%s)",
				now.Name, pod.Name, pod.Namespace, pod.UID)
		}
	}
}
