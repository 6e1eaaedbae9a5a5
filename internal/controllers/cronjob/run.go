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
	// checkedByUpdate is set while an update of the cronjob's status is the first action. The server rejects the update
	// if the cronjob has changed, which makes another check unnecessary.
	checkedByUpdate bool
}

func (s *unchangedCronJob) String() string { return s.precondition().String() }

func (s *unchangedCronJob) Check(ctx context.Context, exec *action.Executor) error {
	if s.checkedByUpdate {
		return nil
	}
	return s.precondition().Check(ctx, exec)
}

func (s *unchangedCronJob) precondition() action.Unchanged[*batchv1.CronJob] {
	return action.Unchanged[*batchv1.CronJob]{Resource: resource, Objects: []*batchv1.CronJob{s.c}}
}

// statusUpdate updates the status of a cronjob and then records the events about the change, which no later run would
// detect again.
type statusUpdate struct {
	action.Update[*batchv1.CronJob]
	events  []action.Action
	current *unchangedCronJob
}

func (n statusUpdate) Do(ctx context.Context, exec *action.Executor) error {
	written, err := n.Write(ctx, exec)
	if err != nil {
		return err
	}
	n.current.c, n.current.checkedByUpdate = written, false
	_, err = exec.Do(ctx, n.events...)
	return err
}

// jobCreation creates the job for a time and records it in the cronjob's status at once. The job may be deleted
// before any controller observes it, and a run that the status does not record would be repeated.
type jobCreation struct {
	action.Create[*batchv1.Job]
	current *unchangedCronJob
	at      time.Time
}

func (r jobCreation) Do(ctx context.Context, exec *action.Executor) error {
	created, err := r.Write(ctx, exec)
	if err != nil {
		return err
	}
	observed := r.current.c
	if err = r.updateStatus(ctx, exec, withOwnStatus(observed), created); !apierrors.IsConflict(err) {
		return err
	}
	c, err := client.Of[*batchv1.CronJob](exec.Client, resource).Get(ctx, observed.Namespace, observed.Name)
	if err = action.ClassifyNotFound(err, resource, observed.Name); action.IsGone(err) || err == nil &&
		c.UID != observed.UID {
		return nil
	}
	if err != nil {
		return err
	}
	return r.updateStatus(ctx, exec, c, created)
}

// updateStatus updates the status of the cronjob.
func (r jobCreation) updateStatus(ctx context.Context, exec *action.Executor, c *batchv1.CronJob,
	created *batchv1.Job) error {
	if !r.record(&c.Status, created) {
		return nil
	}
	c.ManagedFields = nil // as action.Update does
	_, err := client.Of[*batchv1.CronJob](exec.Client, resource).UpdateStatus(ctx, c, metav1.UpdateOptions{})
	if err = action.ClassifyNotFound(err, resource, c.Name); action.IsGone(err) {
		return nil
	}
	return err
}

// record records in a status that the job was created, and reports whether that changed the status. created is nil
// if the namespace is being deleted: then there is no job, and only the time is recorded.
func (r jobCreation) record(status *batchv1.CronJobStatus, created *batchv1.Job) (changed bool) {
	if last := status.LastScheduleTime; last == nil || r.at.After(last.Time) {
		status.LastScheduleTime, changed = ptr.To(metav1.NewTime(r.at)), true
	}
	if created == nil || created.UID == "" || job.HasEnded(created) != "" || created.DeletionTimestamp != nil ||
		listsActive(status, created.UID) {
		return changed
	}
	status.Active = append(status.Active, reference(created))
	return true
}
