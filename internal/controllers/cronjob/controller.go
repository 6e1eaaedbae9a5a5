// Package cronjob is the controller that makes Jobs by a schedule. A run that was missed, as while nobody was there, is made up
// for once, the last one; jobs that have ended are kept for a while.
//
// decide.go is what it does, of nothing but what was seen; schedule.go says when, template.go is the job, and run.go makes it.
// This file reads the cache and carries it out.
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
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
	"github.com/bowline-dev/bowline/internal/controllers/job"
)

// Name of the controller, as --controllers takes it.
const Name = "cronjob"

// workers is how many cronjobs are worked on at a time.
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
		jobs:     adopt.CacheOf[*batchv1.Job](m, jobsResource),
		hand:     action.NewHand(m, "cronjob-controller"),
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

// reconciler works on one cronjob at a time.
type reconciler struct {
	cronJobs *informer.Informer[*batchv1.CronJob]
	jobs     adopt.Cache[*batchv1.Job]
	hand     *action.Hand

	schedules schedules
}

// jobMatters says whether a job has come or gone, or has ended, or is another's now. How far it has come is its own affair.
func jobMatters(old, now *batchv1.Job) bool {
	return old == nil || now == nil || job.HasEnded(old) != job.HasEnded(now) ||
		(old.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		!equality.Semantic.DeepEqual(metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(now))
}

// soon is when to look again after the cache was behind: not all that it will show then is a reason to.
const soon = time.Second

// Reconcile makes the job that is due, and has the status say what there is.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	c, err := r.cronJobs.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		r.schedules.forget(request)
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	jobs := r.jobs.ControlledBy(c.UID)
	unseen, err := r.unseen(ctx, c, jobs)
	if err != nil {
		return controller.Result{}, err
	}
	now := time.Now()
	actions := Decide(Seen{CronJob: c, Jobs: append(jobs, unseen...), Since: r.schedules.since(request, c, now), Now: now})
	result, err := r.hand.Do(ctx, actions...)
	switch {
	case errors.Is(err, action.ErrBehind):
		return controller.Result{RequeueAfter: soon}, nil
	case apierrors.IsAlreadyExists(err): // somebody else's job has the name: there is none of this time
		return result, nil
	}
	return result, err
}

// unseen asks the server for the jobs that the status lists and the cache does not show: it may be behind.
func (r *reconciler) unseen(ctx context.Context, c *batchv1.CronJob, seen []*batchv1.Job) (found []*batchv1.Job, err error) {
	for _, listed := range c.Status.Active {
		if contains(seen, listed) {
			continue
		}
		j, err := client.Of[*batchv1.Job](r.hand.Client, jobsResource).Get(ctx, listed.Namespace, listed.Name)
		switch err = action.Unserved(err, jobsResource, listed.Name); {
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
