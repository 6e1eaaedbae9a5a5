package cronjob

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/job"
)

// standing asks the server whether a cronjob is as it was seen or, since then, as this run has written it.
type standing struct {
	c *batchv1.CronJob
	// written says that a note is written first, which fails if the cronjob is not as it was seen: there is nothing to ask before.
	written bool
}

func (s *standing) String() string { return s.asked().String() }

func (s *standing) Ask(ctx context.Context, by *action.Hand) error {
	if s.written {
		return nil
	}
	return s.asked().Ask(ctx, by)
}

func (s *standing) asked() action.Current[*batchv1.CronJob] {
	return action.Current[*batchv1.CronJob]{In: resource, Objects: []*batchv1.CronJob{s.c}}
}

// note writes the status of a cronjob and tells what has come into it: nobody would find that out once more.
type note struct {
	action.Update[*batchv1.CronJob]
	told []action.Action
	of   *standing
}

func (n note) Do(ctx context.Context, by *action.Hand) error {
	written, err := n.Make(ctx, by)
	if err != nil {
		return err
	}
	n.of.c, n.of.written = written, false
	_, err = by.Do(ctx, n.told...)
	return err
}

// run makes the job of a time, and has the status of its cronjob say so at once: the job may be gone before anybody has seen
// it, and what the status does not say is made up for.
type run struct {
	action.Create[*batchv1.Job]
	of *standing
	at time.Time
}

func (r run) Do(ctx context.Context, by *action.Hand) error {
	made, err := r.Make(ctx, by)
	if err != nil {
		return err
	}
	seen := r.of.c
	if err = r.tell(ctx, by, withOwnStatus(seen), made); !apierrors.IsConflict(err) {
		return err
	}
	c, err := client.Of[*batchv1.CronJob](by.Client, resource).Get(ctx, seen.Namespace, seen.Name)
	if err = action.Unserved(err, resource, seen.Name); action.IsGone(err) || err == nil && c.UID != seen.UID {
		return nil
	}
	if err != nil {
		return err
	}
	return r.tell(ctx, by, c, made)
}

// tell writes the status of the cronjob as it was seen.
func (r run) tell(ctx context.Context, by *action.Hand, seen *batchv1.CronJob, made *batchv1.Job) error {
	if !r.note(&seen.Status, made) {
		return nil
	}
	seen.ManagedFields = nil // as in action.Update
	_, err := client.Of[*batchv1.CronJob](by.Client, resource).UpdateStatus(ctx, seen, metav1.UpdateOptions{})
	if err = action.Unserved(err, resource, seen.Name); action.IsGone(err) {
		return nil
	}
	return err
}

// note has a status say that the job was made, which is nil when it will not be, unless it does.
func (r run) note(status *batchv1.CronJobStatus, made *batchv1.Job) (changed bool) {
	if last := status.LastScheduleTime; last == nil || r.at.After(last.Time) {
		status.LastScheduleTime, changed = ptr.To(metav1.NewTime(r.at)), true
	}
	if made == nil || made.UID == "" || job.HasEnded(made) != "" || made.DeletionTimestamp != nil || lists(status, made.UID) {
		return changed
	}
	status.Active = append(status.Active, reference(made))
	return true
}
