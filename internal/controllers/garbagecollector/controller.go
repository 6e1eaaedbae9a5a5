// Package garbagecollector is the controller that deletes what belonged to something that has gone. Objects say whom they belong
// to in metadata.ownerReferences: when the last owner of an object is not there any more, the object goes too. An owner that is
// deleted in the foreground waits until what belongs to it has gone; one that is deleted as an orphaner leaves it behind.
//
// decide.go is what it does about an object, of nothing but what was seen. graph.go sees: the caches of all resources, custom
// ones included, with an index by owner. Whether an owner is absent the server is asked, so that nothing is deleted for what a
// cache has not shown yet.
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
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/resources"
)

// Name of the controller, as --controllers takes it.
const Name = "garbagecollector"

// workers is how many objects are looked at at a time.
const workers = 20

// respite is how long after its start the collector looks for what there is. It is no hurry, and who starts a server has other
// things to do first; a test is often over by then.
const respite = 100 * time.Millisecond

// everything is the request to find out which resources there are.
var everything = controller.Request{Name: "resources"}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	return newCollector(m).add(m)
}

func newCollector(m *controller.Manager) *collector {
	return &collector{graph: newGraph(m), hand: action.NewHand(m, "garbage-collector-controller")}
}

func (c *collector) add(m *controller.Manager) *controller.Controller {
	c.look.AddAfter(everything, respite)
	return m.Add(controller.Options{
		Name: Name,
		Sources: []controller.Source{
			c.look,
			controller.Watches(informer.For[object](c.informers, definitions), func(object) []controller.Request {
				c.news()
				return nil
			}),
		},
		Workers:    workers,
		Reconciler: c,
		Caches:     []*informer.Factory{m.Informers(), c.informers},
	})
}

// collector looks at one object at a time.
type collector struct {
	*graph
	hand *action.Hand
	past past
}

// Reconcile does what there is to do about one object. Where its kind is not served any more as it was, it looks for what is.
func (c *collector) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	if request == everything {
		return controller.Result{}, c.discover(ctx)
	}
	result, err := c.reconcile(ctx, request)
	if errors.Is(err, action.ErrUnserved) {
		c.look.Add(everything)
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
	s, err := c.see(ctx, cache, obj)
	if err != nil {
		return controller.Result{}, err
	}
	which := again{request, ownersOf(obj)}
	s.before, s.now = c.past.times(which), time.Now()
	result, err := c.hand.Do(ctx, decide(s)...)
	if err == nil && obj.DeletionTimestamp == nil && s.isCollected() && s.respite() <= 0 {
		c.past.add(which)
	}
	return result, err
}

// discover follows the resources that have come.
func (c *collector) discover(ctx context.Context) error {
	found, failures := resources.Discover(ctx, c.client)
	c.follow(ctx, found, len(failures) == 0)
	if after := c.unsettled(time.Now()); after > 0 {
		c.look.AddAfter(everything, after)
	}
	return errors.Join(failures...)
}

// find is the cache of a request, or nil when it is not served any more, and the name of its object.
func (c *collector) find(request controller.Request) (*cache, string) {
	resource, name, _ := strings.Cut(request.Name, "/")
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.served[schema.ParseGroupResource(resource)], name
}
