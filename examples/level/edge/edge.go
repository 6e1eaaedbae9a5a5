// Package edge is an edge-triggered controller of a Deployment's pods. It reacts to each event once: it
// creates the pods of a new Deployment, adds or removes pods when a Deployment changes, and recreates a
// deleted pod.
package edge

import (
	"context"
	"log/slog"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/examples/level"
)

// Run processes events until ctx ends.
func Run(ctx context.Context, config *rest.Config) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	k := &keeper{ctx: ctx, clients: clients, known: map[string]*appsv1.Deployment{}}
	var both sync.WaitGroup
	both.Go(func() { k.listen(clients.AppsV1().Deployments("").Watch, k.deployment) })
	both.Go(func() { k.listen(clients.CoreV1().Pods("").Watch, k.pod) })
	both.Wait()
	return nil
}

type keeper struct {
	ctx     context.Context
	clients kubernetes.Interface

	mu    sync.Mutex
	known map[string]*appsv1.Deployment
}

// listen processes the events of a watch, and restarts the watch when it ends. It misses events between two
// watches.
func (k *keeper) listen(begin func(context.Context, metav1.ListOptions) (watch.Interface, error),
	react func(watch.Event)) {
	for k.ctx.Err() == nil {
		if events, err := begin(k.ctx, metav1.ListOptions{}); err == nil {
			for event := range events.ResultChan() {
				react(event)
			}
		}
		time.Sleep(time.Second)
	}
}

// deployment reacts to an event of a Deployment.
func (k *keeper) deployment(event watch.Event) {
	d, ok := event.Object.(*appsv1.Deployment)
	if !ok {
		return
	}
	had := k.remember(d, event.Type)
	switch event.Type {
	case watch.Added, watch.Modified:
		for number := had; number < level.Replicas(d); number++ {
			k.create(d, number)
		}
		for number := level.Replicas(d); number < had; number++ {
			k.remove(d, number)
		}
	case watch.Deleted:
		for number := range had {
			k.remove(d, number)
		}
	}
}

// remember stores the Deployment for later events of its pods, and returns the previous number of pods.
func (k *keeper) remember(d *appsv1.Deployment, event watch.EventType) (had int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if before := k.known[d.Name]; before != nil {
		had = level.Replicas(before)
	}
	k.known[d.Name] = d
	if event == watch.Deleted {
		delete(k.known, d.Name)
	}
	return had
}

// pod recreates a deleted pod.
func (k *keeper) pod(event watch.Event) {
	p, ok := event.Object.(*corev1.Pod)
	if !ok || event.Type != watch.Deleted {
		return
	}
	owner := metav1.GetControllerOf(p)
	if owner == nil {
		return
	}
	k.mu.Lock()
	d := k.known[owner.Name]
	k.mu.Unlock()
	if d == nil {
		return
	}
	for number := range level.Replicas(d) {
		if level.Pod(d, number).Name == p.Name {
			k.create(d, number)
		}
	}
}

func (k *keeper) create(d *appsv1.Deployment, number int) {
	_, err := k.clients.CoreV1().Pods(d.Namespace).Create(k.ctx, level.Pod(d, number), metav1.CreateOptions{})
	report(err)
}

func (k *keeper) remove(d *appsv1.Deployment, number int) {
	report(k.clients.CoreV1().Pods(d.Namespace).Delete(k.ctx, level.Pod(d, number).Name, metav1.DeleteOptions{}))
}

// report logs an error. There is no retry, since the event does not occur again.
func report(err error) {
	if err != nil {
		slog.Error("a pod is not as declared", "error", err)
	}
}
