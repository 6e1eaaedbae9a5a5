// Package job implements the controller that runs the pods of Jobs: as many in parallel as a Job asks for,
// until enough have succeeded. It replaces a failed pod after a growing delay, until too many have failed.
// Each pod is counted exactly once, whatever happens to the pod or to the controller.
//
// decide.go computes the actions from what was observed, without I/O. tally.go classifies and counts the pods by
// the rules in spec.go, and perindex.go their completion indexes. scale.go creates and deletes pods, which
// pod_factory.go builds. backoff.go computes delays, and pod_loss.go those after pods have lost their labels.
// policy.go evaluates the failure and success policies. end.go determines whether the job ends, and report.go
// computes the status. This file reads the cache and executes the actions. leftover.go removes the finalizer from
// pods that no job will count.
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
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podbackoff"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/workqueue"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "job"

// workers is the number of jobs reconciled concurrently.
const workers = 5

// batchDelay is how long events of a job's pods are batched: if a thousand pods become ready at about the same
// time, a few status writes suffice. Kubernetes' controller waits ten times as long.
const batchDelay = 100 * time.Millisecond

// firstRetry and lastRetry bound the exponential retry delay, as in Kubernetes.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

var (
	kind        = batchv1.SchemeGroupVersion.WithKind("Job")
	resource    = batchv1.SchemeGroupVersion.WithResource("jobs")
	cronJobKind = schema.GroupKind{Group: batchv1.GroupName, Kind: "CronJob"}
)

// Add adds the controller to a manager, together with the one that releases leftover pods.
func Add(m *controller.Manager) []*controller.Controller {
	jobs, all := informer.For[*batchv1.Job](m.Informers(), resource), ownership.NewCache[*corev1.Pod](m, pods.Resource)
	r := &reconciler{
		jobs: jobs, pods: all, limits: podlimit.NewGroup(jobs, all, cronJobKind),
		executor: action.NewExecutor(m, "job-controller"), backoff: podbackoff.New(),
	}
	return []*controller.Controller{
		m.Add(controller.Options{
			Name:       Name,
			Reconciler: r,
			Sources: []controller.Source{
				controller.For(r.jobs, controller.GenerationChanged),
				controller.WatchesLater(r.jobs, batchDelay, requestOf),
				controller.WatchesLater(r.pods.Informer, batchDelay, jobOf),
				controller.WatchesLater(r.pods.Informer, batchDelay, r.matchingJobs),
				&r.later,
			},
			Workers: workers,
			Limiter: workqueue.NewExponential[controller.Request](firstRetry, lastRetry),
		}),
		addLeftover(m, r),
	}
}

// reconciler reconciles one job per request.
type reconciler struct {
	jobs     *informer.Informer[*batchv1.Job]
	pods     ownership.Cache[*corev1.Pod]
	limits   podlimit.Group[*batchv1.Job]
	executor *action.Executor
	outcomes outcomesByJob
	statuses action.StatusBackoff[batchv1.JobStatus]
	// backoff delays the creation of pods for jobs that lose them because of changed labels.
	backoff *podbackoff.Tracker
	// later schedules reconciles that are due regardless of a failed attempt's retry delay.
	later controller.Trigger
}

// requestOf returns the request for j.
func requestOf(j *batchv1.Job) []controller.Request { return []controller.Request{informer.KeyOf(j)} }

// jobOf returns the job that controls a pod.
func jobOf(pod *corev1.Pod) []controller.Request {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() != kind.GroupKind() {
		return nil
	}
	return []controller.Request{{Namespace: pod.Namespace, Name: owner.Name}}
}

// matchingJobs returns the jobs whose selectors match a pod that has no controller.
func (r *reconciler) matchingJobs(pod *corev1.Pod) (requests []controller.Request) {
	if metav1.GetControllerOfNoCopy(pod) != nil {
		return nil
	}
	for j := range r.jobs.Indexer().Each("namespace", pod.Namespace) {
		if selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector); err == nil &&
			selector.Matches(labels.Set(pod.Labels)) {
			requests = append(requests, informer.KeyOf(j))
		}
	}
	return requests
}

// Reconcile executes the next step for a job.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	j, err := r.jobs.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		r.removeRecords(request)
		return controller.Result{}, nil
	}
	if err != nil || isManagedElsewhere(j) {
		return controller.Result{}, err
	}
	if HasEnded(j) != "" {
		r.removeRecords(request)
		return controller.Result{}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector)
	if err != nil {
		return controller.Result{}, controller.Terminal(err)
	}
	d := Decide(r.observe(request, j, selector))
	controller.Note(ctx, "%d pods active, %d succeeded, %d failed", len(d.tally.active), d.tally.succeeded,
		d.tally.failures)
	if _, err := r.executor.Do(ctx, d.Claim...); err != nil {
		return controller.Result{}, unlessStale(err)
	}
	if !d.adopts {
		r.outcomes.set(request, j.UID, d.outcomes())
	}
	_, failure := r.executor.Do(ctx, d.Apply...)
	if errors.Is(failure, action.ErrStaleCache) {
		return controller.Result{}, nil
	}
	result, err := r.report(ctx, request, d, failure)
	if failure = cmp.Or(failure, err); failure != nil && result.RequeueAfter > 0 {
		r.later.AddAfter(request, result.RequeueAfter) // due independently of the retry delay
	}
	return result, failure
}

// removeRecords removes the outcomes and the last status of a job that has ended or no longer exists.
func (r *reconciler) removeRecords(request controller.Request) {
	r.outcomes.remove(request)
	r.statuses.Delete(request)
}

// report writes the outcome of a decision, but waits if another writer keeps overwriting the status.
func (r *reconciler) report(ctx context.Context, request controller.Request, d *Decision,
	failure error) (controller.Result, error) {
	actions := d.Report(failure)
	if wait := r.statuses.Delay(request, d.Job.Status, d.status); wait > 0 {
		return controller.Result{RequeueAfter: wait}, nil
	}
	result, err := r.executor.Do(ctx, actions...)
	if err == nil {
		r.statuses.Written(request, d.status)
	}
	return result, err
}

// observe assembles the input of a decision from the cache.
func (r *reconciler) observe(request controller.Request, j *batchv1.Job, selector labels.Selector) Input {
	now := time.Now()
	return Input{
		Job: j, Selector: selector, Pods: r.pods.Claimable(j), Past: r.outcomes.get(request, j.UID), Backoff: r.backoff,
		Usage: func() podlimit.Usage { return r.limits.Usage(j, now) }, Now: now,
		NameTaken: func(name string) bool {
			pod, exists := r.pods.Indexer().Get(informer.Key{Namespace: j.Namespace, Name: name})
			return exists && !metav1.IsControlledBy(pod, j)
		},
	}
}

// isManagedElsewhere reports whether spec.managedBy assigns the job to another controller.
func isManagedElsewhere(j *batchv1.Job) bool {
	return ptr.Deref(j.Spec.ManagedBy, batchv1.JobControllerName) != batchv1.JobControllerName
}

// unlessStale drops action.ErrStaleCache: once the cache has caught up, its event triggers a reconcile.
func unlessStale(err error) error {
	if errors.Is(err, action.ErrStaleCache) {
		return nil
	}
	return err
}
