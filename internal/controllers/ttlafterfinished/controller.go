// Package ttlafterfinished implements the controller that deletes finished Jobs, and their pods, once
// spec.ttlSecondsAfterFinished has passed.
//
// decide.go computes the actions from what was observed, without I/O.
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
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "ttl-after-finished"

// workers is the number of Jobs processed concurrently.
const workers = 5

var jobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	c := &cleaner{informer.For[*batchv1.Job](m.Informers(), jobs),
		action.NewExecutor(m, "ttl-after-finished-controller")}
	return m.Add(controller.Options{
		Name: Name, Reconciler: c, Workers: workers,
		Sources: []controller.Source{controller.For(c.jobs, controller.If(func(_, now *batchv1.Job) bool {
			return now != nil && expires(now)
		}))},
	})
}

// cleaner reconciles one Job per request.
type cleaner struct {
	jobs     *informer.Informer[*batchv1.Job]
	executor *action.Executor
}

// Reconcile deletes a Job, or schedules its deletion.
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
	result, err := c.executor.Do(ctx, actions...)
	if errors.Is(err, action.ErrStaleCache) { // the Job has changed; the cache's event triggers a reconcile
		return controller.Result{}, nil
	}
	return result, err
}
