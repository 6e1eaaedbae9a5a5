// Package resourcequota implements the controller that computes the used amounts in the status of
// ResourceQuotas: object counts, requests and limits of pods, node ports and load balancers of services, and
// storage. It only counts: the admission plugin ResourceQuota adds what a write uses to the status, and rejects a write
// that would exceed a quota. The controller subtracts what was deleted, and corrects what the plugin has not seen.
//
// The controller watches only the resources that quotas count, including custom ones, in the version in which they are
// served. It counts a quota again soon after an object was deleted or changed its usage, and some seconds after an
// object was created, because the plugin has charged the quota already. Package quota computes the usage of an object,
// and decide.go adds it up.
package resourcequota

import (
	"context"
	"errors"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/quota"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "resourcequota"

const (
	// workers is the number of quotas computed concurrently.
	workers = 5
	// batchDelay batches changes, so that a burst is counted once. After a count that took long, it is longer.
	batchDelay = 50 * time.Millisecond
	// createdDelay batches the objects that were created. A count reads all objects, so a count soon after each create
	// would cost more than the creates.
	createdDelay = 5 * time.Second
	// conflictRetry is the delay before the usage is computed again after the server has charged a write meanwhile.
	conflictRetry = time.Second
	// retryInterval is the retry interval for resources that are not served, and the delay before a status that was
	// there when the controller started, or that another client has written, is checked.
	retryInterval = 30 * time.Second
)

var quotas = schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	c := &counter{quotas: informer.For[*corev1.ResourceQuota](m.Informers(), quotas),
		executor: action.NewExecutor(m, "resourcequota-controller")}
	c.caches = newCaches(m, c.enqueueQuotas)
	return m.Add(controller.Options{
		Name: Name, Reconciler: c, Workers: workers,
		Sources: []controller.Source{
			controller.For(c.quotas, controller.If(isUncounted)),
			controller.Watches(c.quotas, c.recheckLater, controller.If(statusChanged)), &c.trigger,
		},
		Caches: []*informer.Factory{m.Informers(), c.caches.typed, c.caches.metadata},
	})
}

// counter computes one quota per request.
type counter struct {
	quotas   *informer.Informer[*corev1.ResourceQuota]
	caches   *caches
	trigger  controller.Trigger
	pauses   pauses
	executor *action.Executor
}

// isUncounted reports whether the status of a quota lacks the limits of its spec. It ignores the old state: the server
// charges the quota in each write, and a source passes such updates as additions once it has merged several of them.
func isUncounted(_, now *corev1.ResourceQuota) bool {
	return now != nil && !equality.Semantic.DeepEqual(now.Spec.Hard, now.Status.Hard)
}

// statusChanged reports whether a quota was added or its status has changed.
func statusChanged(old, now *corev1.ResourceQuota) bool {
	return now != nil && (old == nil || !equality.Semantic.DeepEqual(old.Status, now.Status))
}

// recheckLater schedules a check of a quota that was added or whose status has changed. The delay bounds the conflict
// loop of two controllers of which one has a stale cache.
func (c *counter) recheckLater(q *corev1.ResourceQuota) []controller.Request {
	c.trigger.AddAfter(informer.KeyOf(q), retryInterval)
	return nil
}

// enqueueQuotas enqueues the quotas of a namespace, or of all namespaces, that count a resource, after at least delay.
func (c *counter) enqueueQuotas(resource schema.GroupResource, namespace string, delay time.Duration) {
	all := c.quotas.Indexer().All()
	if namespace != everywhere {
		all = c.quotas.Indexer().Each("namespace", namespace)
	}
	for q := range all {
		for name := range q.Spec.Hard {
			if in, counted := quota.CountedResource(name); counted && in == resource {
				c.trigger.AddAfter(informer.KeyOf(q), max(delay, c.pauses.next(informer.KeyOf(q))))
				break
			}
		}
	}
}

// Reconcile computes the usage of a quota. The caches may lag behind the quota's status, to which the server adds new
// objects. Before it writes the status, Reconcile therefore counts the changed resources again, at the revision of
// the quota or a later one. If a write was charged meanwhile, the update conflicts and is retried.
func (c *counter) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	q, err := c.quotas.Indexer().Find(request)
	if apierrors.IsNotFound(err) {
		c.pauses.forget(request)
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	start := time.Now()
	defer func() { c.pauses.counted(request, time.Since(start)) }()
	s, actions, failure := c.read(ctx, q, everyResource, c.caches.list)
	d := decide(s)
	if d.status != nil {
		revision, err := object.ParseRevision(q.ResourceVersion)
		if err != nil {
			return controller.Result{}, err
		}
		since := func(ctx context.Context, in schema.GroupResource, namespace string) (iter.Seq[client.Object], error) {
			return c.caches.listSince(ctx, revision, in, namespace)
		}
		var again []action.Action
		after := d.after
		s, again, failure = c.read(ctx, q, s.toConfirm(d), since) // includes what could not be read
		d = decide(s)
		d.after = min(d.after, after)
		actions = append(actions, again...)
	}
	result, err := c.executor.Do(ctx, append(actions, s.actions(d)...)...)
	if apierrors.IsConflict(err) {
		return controller.Result{RequeueAfter: conflictRetry}, failure
	}
	return result, errors.Join(failure, err)
}

// everyResource is the filter of read that excludes nothing.
func everyResource(schema.GroupResource) bool { return true }

// read reads the objects of the resources that a quota counts and the filter includes. The actions requeue the quota.
func (c *counter) read(ctx context.Context, q *corev1.ResourceQuota, includes func(schema.GroupResource) bool,
	list func(context.Context, schema.GroupResource, string) (iter.Seq[client.Object], error),
) (s input, actions []action.Action, failure error) {
	s = input{quota: q, objects: map[schema.GroupResource]iter.Seq[client.Object]{}, now: time.Now()}
	var failures []error
	for name := range q.Spec.Hard {
		resource, counted := quota.CountedResource(name)
		if _, known := s.objects[resource]; known || !counted || !includes(resource) {
			continue
		}
		if after := c.caches.untilRediscovery(resource); after > 0 {
			actions = append(actions, action.Requeue{After: after})
		}
		objects, err := list(ctx, resource, q.Namespace)
		switch {
		case errors.Is(err, errNotServed):
			actions = append(actions, action.Requeue{After: retryInterval})
		case err != nil:
			failures = append(failures, err)
		default:
			s.objects[resource] = objects
		}
	}
	return s, actions, errors.Join(failures...)
}
