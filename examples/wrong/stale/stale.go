// Package stale is a controller that is wrong, to learn from: it trusts its cache. For each ConfigMap with the label
// kind=order it makes a Secret, its ticket, whose name the server makes up.
//
// What is wrong: whether there is a ticket already is asked of the cache, which may not show yet what the controller itself
// has just made. When the order comes up again in that moment, it gets a second ticket. The right way is to give the ticket
// a name that follows from the order's, so that the server refuses a second one; or to wait until the cache has caught up
// with one's own writes, as the controllers of this project do. bowlinetest.Explore finds it.
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

// Order is the label of a ticket that names its order.
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

// work reconciles one object of a queue, and is false when there will be no more.
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
