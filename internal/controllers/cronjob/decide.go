package cronjob

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/job"
)

// Input is what the controller has observed.
type Input struct {
	CronJob *batchv1.CronJob
	// Jobs are the jobs that the cronjob controls, including those that the status lists but the cache does
	// not show.
	Jobs []*batchv1.Job
	// Since is when the cronjob got its current schedule; zero if no change of schedule was observed.
	Since time.Time
	Now   time.Time
}

// decision accumulates the actions and the new status while Decide runs.
type decision struct {
	Input
	spec *batchv1.CronJobSpec
	// next is the cronjob with its new status.
	next *batchv1.CronJob
	// newlyActive are the jobs that the decision adds to the active ones in the status.
	newlyActive []*batchv1.Job
	// current is the cronjob as the server is expected to have it while the actions are executed.
	current *unchangedCronJob
	// preconditions are checks that the server must pass before anything is written.
	preconditions []action.Precondition
	// writes are the deletions and the creation; events are recorded before them.
	writes, events []action.Action
	requeue        time.Duration
}

// Decide computes which jobs to delete, whether to create one, and the new status. A job's name is derived
// from its scheduled time, so each time gets at most one job while that job exists. The status prevents a
// second one after it is deleted.
func Decide(s Input) (actions []action.Action) {
	d := &decision{Input: s, spec: &s.CronJob.Spec, next: withOwnStatus(s.CronJob),
		current: &unchangedCronJob{c: s.CronJob}}
	slices.SortFunc(d.Jobs, func(a, b *batchv1.Job) int {
		return cmp.Or(compareStart(a, b), cmp.Compare(a.Name, b.Name))
	})
	d.updateStatus()
	d.trimHistory()
	if s.CronJob.DeletionTimestamp == nil {
		d.run()
	}
	if d.requeue > 0 {
		actions = append(actions, action.Requeue{After: d.requeue})
	}
	return append(actions, d.guarded()...)
}

// guarded combines events, writes and the checks that they depend on.
func (d *decision) guarded() []action.Action {
	preconditions, then := d.preconditions, slices.Concat(d.events, d.writes)
	if len(d.newlyActive) > 0 { // one may have ended: another controller may have observed it before this cache does
		preconditions = append(preconditions,
			action.Unchanged[*batchv1.Job]{Resource: jobsResource, Objects: d.newlyActive})
	}
	changed := !equality.Semantic.DeepEqual(d.next.Status, d.CronJob.Status)
	if len(d.writes) > 0 || len(d.events) > 0 && !changed { // the cronjob may have been deleted, recreated or suspended
		preconditions = append(preconditions, d.current)
	}
	d.current.checkedByUpdate = changed
	if changed { // first: a job that is deleted before the status records its time would be created again
		status := action.Update[*batchv1.CronJob]{Resource: resource, Object: d.next, Subresource: "status"}
		then = slices.Concat([]action.Action{statusUpdate{status, d.events, d.current}}, d.writes)
	}
	if len(preconditions) == 0 {
		return then
	}
	return []action.Action{action.Guard{Preconditions: preconditions, Then: then}}
}

// withOwnStatus returns a shallow copy of a cronjob with a deep copy of its status.
func withOwnStatus(c *batchv1.CronJob) *batchv1.CronJob {
	own := *c
	c.Status.DeepCopyInto(&own.Status)
	return &own
}

// compareStart orders jobs by start time; jobs that have not started are last.
func compareStart(a, b *batchv1.Job) int {
	switch a, b := a.Status.StartTime, b.Status.StartTime; {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	default:
		return a.Compare(b.Time)
	}
}

// trimHistory deletes the oldest succeeded and failed jobs beyond the history limits.
func (d *decision) trimHistory() {
	d.trim(d.spec.SuccessfulJobsHistoryLimit, batchv1.JobComplete)
	d.trim(d.spec.FailedJobsHistoryLimit, batchv1.JobFailed)
}

func (d *decision) trim(limit *int32, end batchv1.JobConditionType) {
	var ended []*batchv1.Job
	for _, j := range d.Jobs {
		if job.HasEnded(j) == end {
			ended = append(ended, j)
		}
	}
	if limit == nil {
		return
	}
	for _, j := range ended[:max(0, len(ended)-max(0, int(*limit)))] {
		d.delete(j, false)
	}
}

// delete deletes a job and its pods. An active job is only deleted if it has not changed since it was
// observed.
func (d *decision) delete(j *batchv1.Job, active bool) {
	d.removeActive(j.UID)
	if j.DeletionTimestamp != nil {
		return
	}
	d.writes = append(d.writes, action.Delete[*batchv1.Job]{
		Resource: jobsResource, Object: j, IfUnchanged: active, Propagation: metav1.DeletePropagationBackground,
		Events: action.Events{
			Object: d.CronJob, Reason: "SuccessfulDelete", Message: "Deleted job " + j.Name,
			FailureReason: "FailedDelete", FailurePrefix: "Deleted job: ",
		},
	})
}

// removeActive removes a job from the status's list of active jobs.
func (d *decision) removeActive(uid types.UID) {
	d.next.Status.Active = slices.DeleteFunc(d.next.Status.Active, func(r corev1.ObjectReference) bool {
		return r.UID == uid
	})
}

func (d *decision) isActive(uid types.UID) bool { return listsActive(&d.next.Status, uid) }

// listsActive reports whether a status lists a job as active.
func listsActive(status *batchv1.CronJobStatus, uid types.UID) bool {
	return slices.ContainsFunc(status.Active, func(r corev1.ObjectReference) bool { return r.UID == uid })
}

func (d *decision) event(warning bool, reason, format string, arguments ...any) {
	d.events = append(d.events, action.Event{Object: d.CronJob, Warning: warning, Reason: reason,
		Message: fmt.Sprintf(format, arguments...)})
}

// updateStatus updates the status: the active jobs, the last scheduled time and the last success.
func (d *decision) updateStatus() {
	status := &d.next.Status
	existing := map[types.UID]bool{}
	for _, j := range d.Jobs {
		existing[j.UID] = true
		end := job.HasEnded(j)
		at, scheduled := scheduledTime(d.CronJob, j, d.Now)
		switch {
		case end != "" && d.isActive(j.UID):
			d.removeActive(j.UID)
			d.event(false, "SawCompletedJob", "Saw completed job: %s, condition: %v", j.Name, end)
		case end != "" || d.isActive(j.UID) || j.DeletionTimestamp != nil:
		case scheduled:
			status.Active = append(status.Active, reference(j))
			d.newlyActive = append(d.newlyActive, j)
		default:
			d.event(true, "UnexpectedJob", "Saw a job that the controller did not create or forgot: %s", j.Name)
		}
		if last := status.LastScheduleTime; scheduled && (last == nil || at.After(last.Time)) {
			status.LastScheduleTime = ptr.To(metav1.NewTime(at))
		}
		if completed := j.Status.CompletionTime; end == batchv1.JobComplete && completed != nil &&
			(status.LastSuccessfulTime == nil || completed.After(status.LastSuccessfulTime.Time)) {
			status.LastSuccessfulTime = completed
		}
	}
	for _, listed := range slices.Clone(status.Active) {
		if !existing[listed.UID] {
			d.removeActive(listed.UID)
			if d.CronJob.DeletionTimestamp == nil { // otherwise its jobs are deleted with it
				d.event(false, "MissingJob", "Active job went missing: %v", listed.Name)
			}
		}
	}
}

// reference returns the reference by which the status lists a job.
func reference(j *batchv1.Job) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Namespace: j.Namespace, Name: j.Name, UID: j.UID,
		ResourceVersion: j.ResourceVersion,
	}
}

// run creates a job if one is due and schedules the next reconcile.
func (d *decision) run() {
	if zone := d.spec.TimeZone; zone != nil {
		if _, err := time.LoadLocation(*zone); err != nil {
			d.event(true, "UnknownTimeZone", "invalid timeZone: %q: %s", *zone, err)
			return
		}
	}
	if ptr.Deref(d.spec.Suspend, false) {
		return
	}
	if hasZone(d.spec.Schedule) {
		d.event(true, "UnsupportedSchedule", "CRON_TZ or TZ used in schedule %q is not officially supported, "+
			"see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
			d.spec.Schedule)
	}
	schedule, err := parse(d.CronJob)
	if err != nil {
		d.event(true, "UnparseableSchedule", "unparseable schedule: %q : %s", d.spec.Schedule, err)
		return
	}
	at, missed, err := due(schedule, d.since(), d.Now)
	if err != nil {
		d.event(true, "InvalidSchedule", "invalid schedule: %s : %s", d.spec.Schedule, err)
		return
	}
	if !at.IsZero() {
		d.createJob(at, missed)
	}
	d.requeue = untilNext(d.next, schedule, d.Now)
}

// since returns the time after which missed runs are made up for. Runs that a new schedule would have had in
// the past do not count.
func (d *decision) since() time.Time {
	since := later(lastScheduled(d.next), d.Since)
	if seconds := d.spec.StartingDeadlineSeconds; seconds != nil {
		since = later(since, d.Now.Add(-bounded.Seconds(*seconds)))
	}
	return since
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// createJob creates the job for a time, unless the concurrency policy forbids it.
func (d *decision) createJob(at time.Time, missed int64) {
	if missed > manyMissed {
		d.event(true, "TooManyMissedTimes",
			"too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
	}
	if refusal := podlimit.GrantJob(len(d.Jobs) - len(d.writes)); refusal != nil {
		d.events = append(d.events, refusal.Event(d.CronJob))
		return
	}
	if !d.mayStart() {
		return
	}
	j := newJob(d.CronJob, at)
	d.writes = append(d.writes, jobCreation{
		Create: action.Create[*batchv1.Job]{Resource: jobsResource, Object: j, Events: action.Events{
			Object: d.CronJob, Reason: "SuccessfulCreate", Message: "Created job " + j.Name,
			FailureReason: "FailedCreate", FailurePrefix: "Error creating job: ",
		}},
		current: d.current, at: at,
	})
}

// mayStart applies the concurrency policy. Where jobs must not overlap, it adds a check that the server has
// no other jobs: the cache may not show the previous, late job yet.
func (d *decision) mayStart() bool {
	switch d.spec.ConcurrencyPolicy {
	case batchv1.ForbidConcurrent:
		if len(d.next.Status.Active) > 0 {
			d.event(false, "JobAlreadyActive",
				"Not starting job because prior execution is running and concurrency policy is Forbid")
			return false
		}
	case batchv1.ReplaceConcurrent:
		for _, j := range d.Jobs {
			if d.isActive(j.UID) {
				d.delete(j, true)
			}
		}
	default:
		return true
	}
	d.preconditions = append(d.preconditions, action.DependentUIDsUnchanged[*batchv1.Job]{
		Resource: jobsResource, Owner: d.CronJob, Selector: labels.Everything(), Objects: d.Jobs,
	})
	return true
}
