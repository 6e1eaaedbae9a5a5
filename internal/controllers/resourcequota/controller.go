// Package resourcequota is the controller that says in the status of each ResourceQuota how much of it is used: it counts the
// objects of the namespace, what pods ask for and are limited to, ports and balancers of services, and storage. It counts;
// nothing is refused.
//
// It follows only what some quota counts, custom resources included, in the version in which they are served, and counts anew
// when something of that comes, goes or takes another amount. usage.go is what an object takes, scope.go which objects a quota
// is about, decide.go what follows from both.
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
	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// Name of the controller, as --controllers takes it.
const Name = "resourcequota"

const (
	// workers is how many quotas are counted at a time.
	workers = 5
	// gather is how long to wait for more when something has changed, so that a burst is counted once.
	gather = 50 * time.Millisecond
	// lookAgain is when to look again for what is counted and not served, and at what somebody has written.
	lookAgain = 30 * time.Second
)

var quotas = schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	c := &counter{quotas: informer.For[*corev1.ResourceQuota](m.Informers(), quotas), hand: action.NewHand(m, "resourcequota-controller")}
	c.followed = newFollowed(m, c.changed)
	return m.Add(controller.Options{
		Name: Name, Reconciler: c, Workers: workers,
		Sources: []controller.Source{
			controller.For(c.quotas, controller.If(isDeclared)), controller.Watches(c.quotas, c.written, controller.If(isWritten)), &c.look,
		},
		Caches: []*informer.Factory{m.Informers(), c.followed.others},
	})
}

// counter counts for one quota at a time.
type counter struct {
	quotas   *informer.Informer[*corev1.ResourceQuota]
	followed *followed
	look     controller.Trigger
	hand     *action.Hand
}

// isDeclared says whether what a quota limits is new.
func isDeclared(old, now *corev1.ResourceQuota) bool {
	return now != nil && (old == nil || !equality.Semantic.DeepEqual(old.Spec, now.Spec))
}

// isWritten says whether somebody has written what is used.
func isWritten(old, now *corev1.ResourceQuota) bool {
	return old != nil && now != nil && !equality.Semantic.DeepEqual(old.Status, now.Status)
}

// written has a quota looked at later in which somebody has written what is used: two controllers of which one is behind would
// correct each other without end.
func (c *counter) written(q *corev1.ResourceQuota) []controller.Request {
	c.look.AddAfter(informer.KeyOf(q), lookAgain)
	return nil
}

// changed has those quotas of a namespace, or of all, looked at that count a resource.
func (c *counter) changed(resource schema.GroupResource, namespace string) {
	all := c.quotas.Indexer().All()
	if namespace != everywhere {
		all = c.quotas.Indexer().Each("namespace", namespace)
	}
	for q := range all {
		for name := range q.Spec.Hard {
			if in, counted := countedIn(name); counted && in == resource {
				c.look.AddAfter(informer.KeyOf(q), gather)
				break
			}
		}
	}
}

// Reconcile counts for a quota.
func (c *counter) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	quota, err := c.quotas.Indexer().Find(request)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	s := seen{quota: quota, objects: map[schema.GroupResource]iter.Seq[client.Object]{}, now: time.Now()}
	var failures []error
	var actions []action.Action
	for name := range quota.Spec.Hard {
		resource, counted := countedIn(name)
		if _, known := s.objects[resource]; known || !counted {
			continue
		}
		if after := c.followed.unsettled(resource); after > 0 {
			actions = append(actions, action.Again{After: after})
		}
		objects, err := c.followed.in(ctx, resource, quota.Namespace)
		switch {
		case errors.Is(err, errNotServed):
			actions = append(actions, action.Again{After: lookAgain})
		case err != nil:
			failures = append(failures, err)
		default:
			s.objects[resource] = objects
		}
	}
	result, err := c.hand.Do(ctx, append(actions, decide(s)...)...)
	return result, errors.Join(append(failures, err)...)
}
