// Package cronjob implements the controller that creates Jobs on a schedule. If runs were missed, for example
// because no controller was running, it makes up for the last one only. It deletes ended jobs beyond the
// history limits.
//
// decide.go computes the actions from what was observed, without I/O; schedule.go computes run times,
// template.go builds the job, and run.go creates it. This file reads the cache and executes the actions.
package cronjob

import (
	"context"
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/job"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "cronjob"

// workers is the number of cronjobs reconciled concurrently.
const workers = 5

var (
	kind         = batchv1.SchemeGroupVersion.WithKind("CronJob")
	resource     = batchv1.SchemeGroupVersion.WithResource("cronjobs")
	jobsResource = batchv1.SchemeGroupVersion.WithResource("jobs")
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	r := &reconciler{
		cronJobs: informer.For[*batchv1.CronJob](m.Informers(), resource),
		jobs:     ownership.NewCache[*batchv1.Job](m, jobsResource),
		executor: action.NewExecutor(m, "cronjob-controller"),
	}
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(r.cronJobs),
			controller.Owns(r.jobs.Informer, kind.GroupKind(), controller.If(jobMatters)),
		},
		Workers: workers,
	})
}

// reconciler reconciles one cronjob per request.
type reconciler struct {
	cronJobs *informer.Informer[*batchv1.CronJob]
	jobs     ownership.Cache[*batchv1.Job]
	executor *action.Executor

	schedules schedules
}

// jobMatters reports whether a job was created, deleted or adopted, or has ended. Its progress in between is
// irrelevant.
func jobMatters(old, now *batchv1.Job) bool {
	return old == nil || now == nil || job.HasEnded(old) != job.HasEnded(now) ||
		(old.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		!equality.Semantic.DeepEqual(metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(now))
}

// staleRetryDelay is the retry delay after a decision was based on a stale cache. Not every event that then arrives
// triggers a reconcile.
const staleRetryDelay = time.Second

// Reconcile creates the job that is due and updates the cronjob's status.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	c, err := r.cronJobs.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		r.schedules.remove(request)
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	jobs := r.jobs.ControlledBy(c.UID)
	uncached, err := r.fetchUncached(ctx, c, jobs)
	if err != nil {
		return controller.Result{}, err
	}
	now := time.Now()
	actions := Decide(Input{CronJob: c, Jobs: append(jobs, uncached...), Since: r.schedules.since(request, c, now),
		Now: now})
	result, err := r.executor.Do(ctx, actions...)
	switch {
	case errors.Is(err, action.ErrStaleCache):
		return controller.Result{RequeueAfter: staleRetryDelay}, nil
	case apierrors.IsAlreadyExists(err): // another owner's job has the name: skip this run
		return result, nil
	}
	return result, err
}

// fetchUncached gets from the server the jobs that the status lists and that the cache, which may be stale, does not
// show.
func (r *reconciler) fetchUncached(ctx context.Context, c *batchv1.CronJob,
	cached []*batchv1.Job) (found []*batchv1.Job, err error) {
	for _, listed := range c.Status.Active {
		if contains(cached, listed) {
			continue
		}
		j, err := client.Of[*batchv1.Job](r.executor.Client, jobsResource).Get(ctx, listed.Namespace, listed.Name)
		switch err = action.ClassifyNotFound(err, jobsResource, listed.Name); {
		case action.IsGone(err):
		case err != nil:
			return nil, err
		case j.UID == listed.UID:
			found = append(found, j)
		}
	}
	return found, nil
}

func contains(jobs []*batchv1.Job, listed corev1.ObjectReference) bool {
	for _, j := range jobs {
		if j.UID == listed.UID {
			return true
		}
	}
	return false
}
