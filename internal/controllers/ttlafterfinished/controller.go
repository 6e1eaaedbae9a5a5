// Package ttlafterfinished is the controller that deletes Jobs which have finished, when the time is over for which they are to
// be kept: spec.ttlSecondsAfterFinished. Their pods go with them.
//
// decide.go is what it does, of nothing but what was seen.
package ttlafterfinished

import (
	"context"
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// Name of the controller, as --controllers takes it.
const Name = "ttl-after-finished"

// workers is how many Jobs are looked at at a time.
const workers = 5

var jobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	c := &cleaner{informer.For[*batchv1.Job](m.Informers(), jobs), action.NewHand(m, "ttl-after-finished-controller")}
	return m.Add(controller.Options{
		Name: Name, Reconciler: c, Workers: workers,
		Sources: []controller.Source{controller.For(c.jobs, controller.If(func(_, now *batchv1.Job) bool {
			return now != nil && expires(now)
		}))},
	})
}

// cleaner looks at one Job at a time.
type cleaner struct {
	jobs *informer.Informer[*batchv1.Job]
	hand *action.Hand
}

// Reconcile deletes a Job, or waits until it is time to.
func (c *cleaner) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	job, err := c.jobs.Indexer().Find(request)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	actions, err := decide(job, time.Now())
	if err != nil {
		return controller.Result{}, controller.Terminal(err)
	}
	result, err := c.hand.Do(ctx, actions...)
	if errors.Is(err, action.ErrBehind) { // it has been changed, which the cache will show
		return controller.Result{}, nil
	}
	return result, err
}
