package example

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Operator is the operator, written with client-go.
type Operator struct {
	clients     kubernetes.Interface
	factory     informers.SharedInformerFactory
	deployments appslisters.DeploymentLister
	services    corelisters.ServiceLister
	queue       workqueue.TypedRateLimitingInterface[string]
}

// NewOperator returns an operator that uses the informers of a factory.
func NewOperator(clients kubernetes.Interface, factory informers.SharedInformerFactory) (*Operator, error) {
	deployments, services := factory.Apps().V1().Deployments(), factory.Core().V1().Services()
	o := &Operator{
		clients:     clients,
		factory:     factory,
		deployments: deployments.Lister(),
		services:    services.Lister(),
		queue:       workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	for _, i := range []cache.SharedIndexInformer{deployments.Informer(), services.Informer()} {
		// A Service has its Deployment's name.
		_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    o.enqueue,
			UpdateFunc: func(_, obj any) { o.enqueue(obj) },
			DeleteFunc: o.enqueue,
		})
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *Operator) enqueue(obj any) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err == nil {
		o.queue.Add(key)
	}
}

// Run processes keys until ctx ends.
func (o *Operator) Run(ctx context.Context) error {
	o.factory.StartWithContext(ctx)
	defer o.factory.Shutdown()
	if err := o.factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, o.queue.ShutDown)
	defer stop()
	for o.next(ctx) {
	}
	return nil
}

// next processes one key. It returns false when the queue is shut down.
func (o *Operator) next(ctx context.Context) bool {
	key, over := o.queue.Get()
	if over {
		return false
	}
	defer o.queue.Done(key)
	if err := o.sync(ctx, key); err != nil {
		o.queue.AddRateLimited(key)
		return true
	}
	o.queue.Forget(key)
	return true
}

// sync brings the Service of one Deployment to the desired state.
func (o *Operator) sync(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return fmt.Errorf("the key %q: %w", key, err)
	}
	var want *corev1.Service
	deployment, err := o.deployments.Deployments(namespace).Get(name)
	switch {
	case err == nil:
		want = desired(deployment)
	case !apierrors.IsNotFound(err):
		return err
	}
	have, err := o.services.Services(namespace).Get(name)
	switch {
	case apierrors.IsNotFound(err) && want == nil:
		return nil
	case apierrors.IsNotFound(err):
		_, err = o.clients.CoreV1().Services(namespace).Create(ctx, want, metav1.CreateOptions{})
		return err
	case err != nil:
		return err
	case metav1.GetControllerOf(have) == nil || metav1.GetControllerOf(have).Kind != "Deployment":
		return nil // somebody else's
	case want == nil:
		return o.clients.CoreV1().Services(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	}
	changed := have.DeepCopy()
	if adjust(changed, want) {
		_, err = o.clients.CoreV1().Services(namespace).Update(ctx, changed, metav1.UpdateOptions{})
	}
	return err
}
