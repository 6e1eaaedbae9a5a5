// Package job is the controller that has pods do a piece of work: as many of them as a Job says, until as many have succeeded.
// One that fails is replaced, later each time, until too many have. Each pod is counted once, whatever happens to it or to the
// controller.
//
// decide.go is what it does, of nothing but what was seen: keep.go makes and deletes pods of template.go, perindex.go tells the
// parts of the work apart, backoff.go waits, policy.go reads a job's policies, end.go finds out why a job ends, and report.go
// counts. This file reads the cache and carries it out. leftover.go releases the pods that no job counts any more.
package job

import (
	"cmp"
	"context"
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
	"github.com/bowline-dev/bowline/internal/controllers/failing"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
	"github.com/bowline-dev/bowline/workqueue"
)

// Name of the controller, as --controllers takes it.
const Name = "job"

// workers is how many jobs are worked on at a time.
const workers = 5

// together is how long what happens to a job's pods is gathered: of a thousand that become ready at about the same time the
// status tells in a few writes. Kubernetes' controller waits ten times as long.
const together = 100 * time.Millisecond

// After how long what has failed is tried again, the first time and at last, as in Kubernetes.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

var (
	kind     = batchv1.SchemeGroupVersion.WithKind("Job")
	resource = batchv1.SchemeGroupVersion.WithResource("jobs")
)

// Add adds the controller to a manager, with the one that releases what jobs leave.
func Add(m *controller.Manager) []*controller.Controller {
	r := &reconciler{
		jobs: informer.For[*batchv1.Job](m.Informers(), resource),
		pods: adopt.CacheOf[*corev1.Pod](m, pods.Resource),
		hand: action.NewHand(m, "job-controller"), pauses: failing.New(),
	}
	return []*controller.Controller{
		m.Add(controller.Options{
			Name:       Name,
			Reconciler: r,
			Sources: []controller.Source{
				controller.For(r.jobs, controller.GenerationChanged),
				controller.WatchesLater(r.jobs, together, itself),
				controller.WatchesLater(r.pods.Informer, together, jobOf),
				controller.WatchesLater(r.pods.Informer, together, r.whoMayAdopt),
				&r.later,
			},
			Workers: workers,
			Limiter: workqueue.NewExponential[controller.Request](firstRetry, lastRetry),
		}),
		addLeftover(m, r),
	}
}

// reconciler works on one job at a time.
type reconciler struct {
	jobs *informer.Informer[*batchv1.Job]
	pods adopt.Cache[*corev1.Pod]
	hand *action.Hand
	past pasts
	told action.Told[batchv1.JobStatus]
	// pauses are those of jobs that pods are taken from.
	pauses *failing.Pauses
	// later is when to look again at jobs although what was tried has failed.
	later controller.Trigger
}

// itself is a job.
func itself(j *batchv1.Job) []controller.Request { return []controller.Request{informer.KeyOf(j)} }

// jobOf is the job that controls a pod.
func jobOf(pod *corev1.Pod) []controller.Request {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() != kind.GroupKind() {
		return nil
	}
	return []controller.Request{{Namespace: pod.Namespace, Name: owner.Name}}
}

// whoMayAdopt are the jobs that a pod without a controller matches.
func (r *reconciler) whoMayAdopt(pod *corev1.Pod) (requests []controller.Request) {
	if metav1.GetControllerOfNoCopy(pod) != nil {
		return nil
	}
	for j := range r.jobs.Indexer().Each("namespace", pod.Namespace) {
		if selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector); err == nil && selector.Matches(labels.Set(pod.Labels)) {
			requests = append(requests, informer.KeyOf(j))
		}
	}
	return requests
}

// Reconcile takes a job one step further.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	j, err := r.jobs.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		r.forget(request)
		return controller.Result{}, nil
	}
	if err != nil || isOthers(j) {
		return controller.Result{}, err
	}
	if HasEnded(j) != "" {
		r.forget(request)
		return controller.Result{}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector)
	if err != nil {
		return controller.Result{}, controller.Terminal(err)
	}
	d := Decide(r.see(request, j, selector))
	controller.Note(ctx, "%d pods at work, %d have succeeded, %d have failed", len(d.active), d.succeeded, d.failures)
	if _, err := r.hand.Do(ctx, d.Claim...); err != nil {
		return controller.Result{}, unlessBehind(err)
	}
	if !d.adopts {
		r.past.set(request, j.UID, d.past())
	}
	_, failure := r.hand.Do(ctx, d.Keep...)
	if errors.Is(failure, action.ErrBehind) {
		return controller.Result{}, nil
	}
	result, err := r.report(ctx, request, d, failure)
	if failure = cmp.Or(failure, err); failure != nil && result.RequeueAfter > 0 {
		r.later.AddAfter(request, result.RequeueAfter) // whenever the next try is
	}
	return result, failure
}

// forget is for a job that has ended or is gone.
func (r *reconciler) forget(request controller.Request) {
	r.past.forget(request)
	r.told.Forget(request)
}

// report writes what has come of a decision, unless somebody else says otherwise again and again.
func (r *reconciler) report(ctx context.Context, request controller.Request, d *Decision, failure error) (controller.Result, error) {
	actions := d.Report(failure)
	if wait := r.told.Wait(request, d.Job.Status, d.status); wait > 0 {
		return controller.Result{RequeueAfter: wait}, nil
	}
	result, err := r.hand.Do(ctx, actions...)
	if err == nil {
		r.told.Said(request, d.status)
	}
	return result, err
}

// see reads the cache.
func (r *reconciler) see(request controller.Request, j *batchv1.Job, selector labels.Selector) Seen {
	return Seen{
		Job: j, Selector: selector, Pods: r.pods.Claimable(j), Past: r.past.get(request, j.UID), Pauses: r.pauses, Now: time.Now(),
		Taken: func(name string) bool {
			pod, taken := r.pods.Indexer().Get(informer.Key{Namespace: j.Namespace, Name: name})
			return taken && !metav1.IsControlledBy(pod, j)
		},
	}
}

// isOthers says that another controller is asked to do the job.
func isOthers(j *batchv1.Job) bool {
	return ptr.Deref(j.Spec.ManagedBy, batchv1.JobControllerName) != batchv1.JobControllerName
}

// unlessBehind is an error, or none where the cache is behind: what it will show is a reason to look again.
func unlessBehind(err error) error {
	if errors.Is(err, action.ErrBehind) {
		return nil
	}
	return err
}
