// Package stale is an example of a faulty controller: it relies on its cache. For each ConfigMap with the
// label kind=order it creates a Secret, the order's ticket, with a generated name.
//
// The fault: it looks for an existing ticket in the cache, which may not yet contain the one that the
// controller itself has just created. If the order is processed again at this moment, it gets a second
// ticket. A correct controller derives the name of the ticket from that of the order, so that the server
// rejects a second one, or waits until the cache reflects its own writes, as the controllers of this project
// do. bowlinetest.Explore detects the fault.
package stale

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Order is the label of a ticket with the name of its order.
const Order = "order"

// Run runs the controller until ctx ends.
func Run(ctx context.Context, config *rest.Config) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(clients, 0)
	tickets := factory.Core().V1().Secrets()
	orders := factory.Core().V1().ConfigMaps()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	t := &ticketer{clients: clients, orders: orders.Lister(), tickets: tickets.Lister()}
	tickets.Informer()
	add := func(obj any) {
		if c, ok := obj.(*corev1.ConfigMap); ok && c.Labels["kind"] == "order" {
			queue.Add(cache.MetaObjectToName(c))
		}
	}
	_, err = orders.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) },
	})
	if err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	factory.WaitForCacheSync(ctx.Done())
	var workers sync.WaitGroup
	workers.Go(func() {
		for work(ctx, queue, t.reconcile) {
		}
	})
	<-ctx.Done()
	queue.ShutDown()
	workers.Wait()
	return nil
}

// work reconciles one object of a queue. It returns false when the queue has been shut down.
func work(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[cache.ObjectName],
	reconcile func(context.Context, cache.ObjectName) error,
) bool {
	key, end := queue.Get()
	if end {
		return false
	}
	defer queue.Done(key)
	if err := reconcile(ctx, key); err != nil {
		queue.AddRateLimited(key)
		return true
	}
	queue.Forget(key)
	return true
}

type ticketer struct {
	clients kubernetes.Interface
	orders  listers.ConfigMapLister
	tickets listers.SecretLister
}

func (t *ticketer) reconcile(ctx context.Context, key cache.ObjectName) error {
	if _, err := t.orders.ConfigMaps(key.Namespace).Get(key.Name); err != nil {
		return ignoreNotFound(err)
	}
	mine := labels.Set{Order: key.Name}
	tickets, err := t.tickets.Secrets(key.Namespace).List(labels.SelectorFromSet(mine))
	if err != nil || len(tickets) > 0 {
		return err
	}
	ticket := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: key.Name + "-", Labels: mine}}
	_, err = t.clients.CoreV1().Secrets(key.Namespace).Create(ctx, ticket, metav1.CreateOptions{})
	return err
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
