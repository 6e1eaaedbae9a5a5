package cronjob

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/job"
)

// unchangedCronJob checks that a cronjob on the server is as observed or as this run has last written it.
type unchangedCronJob struct {
	c *batchv1.CronJob
	// written means that a note, which is written first, does the check itself: it fails if the cronjob has
	// changed.
	written bool
}

func (s *unchangedCronJob) String() string { return s.asked().String() }

func (s *unchangedCronJob) Check(ctx context.Context, by *action.Executor) error {
	if s.written {
		return nil
	}
	return s.asked().Check(ctx, by)
}

func (s *unchangedCronJob) asked() action.Unchanged[*batchv1.CronJob] {
	return action.Unchanged[*batchv1.CronJob]{Resource: resource, Objects: []*batchv1.CronJob{s.c}}
}

// statusUpdate updates the status of a cronjob and then records the events about the change, which no later run would
// detect again.
type statusUpdate struct {
	action.Update[*batchv1.CronJob]
	events []action.Action
	of     *unchangedCronJob
}

func (n statusUpdate) Do(ctx context.Context, by *action.Executor) error {
	written, err := n.Write(ctx, by)
	if err != nil {
		return err
	}
	n.of.c, n.of.written = written, false
	_, err = by.Do(ctx, n.events...)
	return err
}

// jobCreation creates the job for a time and records it in the cronjob's status at once. The job may be deleted
// before any controller observes it, and a run that the status does not record would be repeated.
type jobCreation struct {
	action.Create[*batchv1.Job]
	of *unchangedCronJob
	at time.Time
}

func (r jobCreation) Do(ctx context.Context, by *action.Executor) error {
	made, err := r.Write(ctx, by)
	if err != nil {
		return err
	}
	seen := r.of.c
	if err = r.updateStatus(ctx, by, withOwnStatus(seen), made); !apierrors.IsConflict(err) {
		return err
	}
	c, err := client.Of[*batchv1.CronJob](by.Client, resource).Get(ctx, seen.Namespace, seen.Name)
	if err = action.ClassifyNotFound(err, resource, seen.Name); action.IsGone(err) || err == nil && c.UID != seen.UID {
		return nil
	}
	if err != nil {
		return err
	}
	return r.updateStatus(ctx, by, c, made)
}

// updateStatus updates the status of the cronjob.
func (r jobCreation) updateStatus(ctx context.Context, by *action.Executor, seen *batchv1.CronJob,
	made *batchv1.Job) error {
	if !r.note(&seen.Status, made) {
		return nil
	}
	seen.ManagedFields = nil // as action.Update does
	_, err := client.Of[*batchv1.CronJob](by.Client, resource).UpdateStatus(ctx, seen, metav1.UpdateOptions{})
	if err = action.ClassifyNotFound(err, resource, seen.Name); action.IsGone(err) {
		return nil
	}
	return err
}

// note records in a status that the job was created, and reports whether that changed the status. made is nil
// if the job will not be created.
func (r jobCreation) note(status *batchv1.CronJobStatus, made *batchv1.Job) (changed bool) {
	if last := status.LastScheduleTime; last == nil || r.at.After(last.Time) {
		status.LastScheduleTime, changed = ptr.To(metav1.NewTime(r.at)), true
	}
	if made == nil || made.UID == "" || job.HasEnded(made) != "" || made.DeletionTimestamp != nil ||
		lists(status, made.UID) {
		return changed
	}
	status.Active = append(status.Active, reference(made))
	return true
}
