// Package garbagecollector implements the controller that deletes objects whose owners are gone. An object
// names its owners in metadata.ownerReferences; when the last of them no longer exists, the object is
// deleted. An owner that is deleted with foreground propagation remains until its dependents are gone; one
// that is deleted with orphan propagation leaves its dependents behind.
//
// decide.go computes the actions for one object from what was observed and does no I/O. graph.go maintains
// caches of all resources, including custom ones, indexed by owner, and observer.go determines the state of one
// object's owners and dependents. The collector treats an owner as absent only after the server has confirmed it or its
// deletion was observed, so a stale cache cannot cause a deletion.
package garbagecollector

import (
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/discovery"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "garbagecollector"

// workers is the number of objects processed concurrently.
const workers = 20

// startDelay delays the first discovery after startup. It is not urgent, a starting server is busy with other
// work, and short tests often end before it.
const startDelay = 100 * time.Millisecond

// discoverRequest is the request to rediscover the served resources.
var discoverRequest = controller.Request{Name: "resources"}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	return newCollector(m).add(m)
}

func newCollector(m *controller.Manager) *collector {
	g := newGraph(m)
	return &collector{
		graph: g, observer: observer{graph: g}, executor: action.NewExecutor(m, "garbage-collector-controller"),
	}
}

func (c *collector) add(m *controller.Manager) *controller.Controller {
	c.queue.AddAfter(discoverRequest, startDelay)
	return m.Add(controller.Options{
		Name: Name,
		Sources: []controller.Source{
			c.queue,
			controller.Watches(informer.For[object](c.informers, definitions), func(object) []controller.Request {
				c.rediscover()
				return nil
			}),
		},
		Workers:    workers,
		Reconciler: c,
		Caches:     []*informer.Factory{m.Informers(), c.informers},
	})
}

// collector reconciles one object per request.
type collector struct {
	*graph
	observer    observer
	executor    *action.Executor
	collections collections
}

// Reconcile processes one object. If its kind is no longer served in the cached version, Reconcile schedules
// rediscovery.
func (c *collector) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	if request == discoverRequest {
		return controller.Result{}, c.discover(ctx)
	}
	result, err := c.reconcile(ctx, request)
	if errors.Is(err, action.ErrUnserved) {
		c.queue.Add(discoverRequest)
	}
	return result, err
}

func (c *collector) reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	cache, name := c.find(request)
	if cache == nil {
		return controller.Result{}, nil
	}
	obj, err := cache.objects.Indexer().Find(informer.Key{Namespace: request.Namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	s, err := c.observer.observe(ctx, cache, obj)
	if err != nil {
		return controller.Result{}, err
	}
	which := incarnation{request, ownersOf(obj)}
	s.collectedBefore, s.now = c.collections.count(which), time.Now()
	result, err := c.executor.Do(ctx, decide(s)...)
	if err == nil && obj.DeletionTimestamp == nil && s.allOwnersAbsent() && s.remainingLife() <= 0 {
		c.collections.add(which)
	}
	return result, err
}

// discover updates the set of caches from the server's discovery and schedules the next discovery if one is
// needed.
func (c *collector) discover(ctx context.Context) error {
	found, failures := discovery.Resources(ctx, c.client)
	c.updateCaches(ctx, found, len(failures) == 0)
	if after := c.rediscoverAfter(time.Now()); after > 0 {
		c.queue.AddAfter(discoverRequest, after)
	}
	return errors.Join(failures...)
}

// find returns the cache that request refers to, or nil if its resource is no longer served, and the object's
// name.
func (c *collector) find(request controller.Request) (*cache, string) {
	resource, name, _ := strings.Cut(request.Name, "/")
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.served[schema.ParseGroupResource(resource)], name
}
