package cronjob

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/job"
)

// Seen is what a decision is made of.
type Seen struct {
	CronJob *batchv1.CronJob
	// Jobs are those that the cronjob controls, with those that its status lists and the cache does not show.
	Jobs []*batchv1.Job
	// Since is when the cronjob has got the schedule that it has; zero where it may always have had it.
	Since time.Time
	Now   time.Time
}

// decision is one that is being made.
type decision struct {
	Seen
	spec *batchv1.CronJobSpec
	// next is the cronjob as it will be.
	next *batchv1.CronJob
	// listed are jobs that the status has not listed yet.
	listed []*batchv1.Job
	// last is the cronjob as it stands while this is carried out.
	last *standing
	// asks are what the server is asked before anything is written.
	asks []action.Question
	// writes are the deletions and the creation; events are told before them.
	writes, events []action.Action
	again          time.Duration
}

// Decide says what to do now: which jobs are forgotten, whether there is one to be made, and what the status says. By its name,
// which follows from the time that it is for, there is one job for each time, and by the status none after that.
func Decide(s Seen) (actions []action.Action) {
	d := &decision{Seen: s, spec: &s.CronJob.Spec, next: withOwnStatus(s.CronJob), last: &standing{c: s.CronJob}}
	slices.SortFunc(d.Jobs, func(a, b *batchv1.Job) int { return cmp.Or(compareStart(a, b), cmp.Compare(a.Name, b.Name)) })
	d.follow()
	d.forget()
	if s.CronJob.DeletionTimestamp == nil {
		d.run()
	}
	if d.again > 0 {
		actions = append(actions, action.Again{After: d.again})
	}
	return append(actions, d.sure()...)
}

// sure is what is told and written, and what the server is asked for that.
func (d *decision) sure() []action.Action {
	asks, then := d.asks, slices.Concat(d.events, d.writes)
	if len(d.listed) > 0 { // one may have ended, which another controller has seen and the cache does not show
		asks = append(asks, action.Current[*batchv1.Job]{In: jobsResource, Objects: d.listed})
	}
	changed := !equality.Semantic.DeepEqual(d.next.Status, d.CronJob.Status)
	if len(d.writes) > 0 || len(d.events) > 0 && !changed { // it may be gone, or another one, or be told to rest
		asks = append(asks, d.last)
	}
	d.last.written = changed
	if changed { // first of all: what is deleted before its time stands there would be made again
		status := action.Update[*batchv1.CronJob]{In: resource, Object: d.next, Subresource: "status"}
		then = slices.Concat([]action.Action{note{status, d.events, d.last}}, d.writes)
	}
	if len(asks) == 0 {
		return then
	}
	return []action.Action{action.Sure{Asks: asks, Then: then}}
}

// withOwnStatus is a cronjob that shares all but its status with another.
func withOwnStatus(c *batchv1.CronJob) *batchv1.CronJob {
	own := *c
	c.Status.DeepCopyInto(&own.Status)
	return &own
}

// compareStart sorts jobs by when they began; one that has not is last.
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

// forget deletes the oldest of the jobs that have succeeded, and of those that have failed, beyond those that are kept.
func (d *decision) forget() {
	d.keepLast(d.spec.SuccessfulJobsHistoryLimit, batchv1.JobComplete)
	d.keepLast(d.spec.FailedJobsHistoryLimit, batchv1.JobFailed)
}

func (d *decision) keepLast(limit *int32, end batchv1.JobConditionType) {
	var ended []*batchv1.Job
	for _, j := range d.Jobs {
		if job.HasEnded(j) == end {
			ended = append(ended, j)
		}
	}
	if limit == nil || len(ended) <= int(*limit) {
		return
	}
	for _, j := range ended[:len(ended)-int(*limit)] {
		d.delete(j, false)
	}
}

// delete deletes a job, with its pods; one that is at work only if it still is.
func (d *decision) delete(j *batchv1.Job, atWork bool) {
	d.drop(j.UID)
	if j.DeletionTimestamp != nil {
		return
	}
	d.writes = append(d.writes, action.Delete[*batchv1.Job]{
		In: jobsResource, Object: j, Unchanged: atWork, Propagation: metav1.DeletePropagationBackground, Tell: action.Tell{
			About: d.CronJob, Reason: "SuccessfulDelete", Message: "Deleted job " + j.Name,
			FailureReason: "FailedDelete", FailureBegin: "Deleted job: ",
		},
	})
}

// drop takes a job out of the list of those that are at work.
func (d *decision) drop(uid types.UID) {
	d.next.Status.Active = slices.DeleteFunc(d.next.Status.Active, func(r corev1.ObjectReference) bool { return r.UID == uid })
}

func (d *decision) isActive(uid types.UID) bool { return lists(&d.next.Status, uid) }

// lists says whether a status has a job among those that are at work.
func lists(status *batchv1.CronJobStatus, uid types.UID) bool {
	return slices.ContainsFunc(status.Active, func(r corev1.ObjectReference) bool { return r.UID == uid })
}

func (d *decision) tell(warning bool, reason, format string, arguments ...any) {
	d.events = append(d.events, action.Event{About: d.CronJob, Warning: warning, Reason: reason, Message: fmt.Sprintf(format, arguments...)})
}

// follow has the status say which jobs are at work, when the last one was for, and when one has last succeeded.
func (d *decision) follow() {
	status := &d.next.Status
	there := map[types.UID]bool{}
	for _, j := range d.Jobs {
		there[j.UID] = true
		end := job.HasEnded(j)
		at, scheduled := timeOf(d.CronJob, j, d.Now)
		switch {
		case end != "" && d.isActive(j.UID):
			d.drop(j.UID)
			d.tell(false, "SawCompletedJob", "Saw completed job: %s, condition: %v", j.Name, end)
		case end != "" || d.isActive(j.UID) || j.DeletionTimestamp != nil:
		case scheduled:
			status.Active = append(status.Active, reference(j))
			d.listed = append(d.listed, j)
		default:
			d.tell(true, "UnexpectedJob", "Saw a job that the controller did not create or forgot: %s", j.Name)
		}
		if last := status.LastScheduleTime; scheduled && (last == nil || at.After(last.Time)) {
			status.LastScheduleTime = ptr.To(metav1.NewTime(at))
		}
		if done := j.Status.CompletionTime; end == batchv1.JobComplete && done != nil &&
			(status.LastSuccessfulTime == nil || done.After(status.LastSuccessfulTime.Time)) {
			status.LastSuccessfulTime = done
		}
	}
	for _, listed := range slices.Clone(status.Active) {
		if !there[listed.UID] {
			d.drop(listed.UID)
			if d.CronJob.DeletionTimestamp == nil { // else its jobs go with it
				d.tell(false, "MissingJob", "Active job went missing: %v", listed.Name)
			}
		}
	}
}

// reference is how the status lists a job.
func reference(j *batchv1.Job) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Namespace: j.Namespace, Name: j.Name, UID: j.UID, ResourceVersion: j.ResourceVersion,
	}
}

// run makes a job, if it is time, and says when it will be next.
func (d *decision) run() {
	if zone := d.spec.TimeZone; zone != nil {
		if _, err := time.LoadLocation(*zone); err != nil {
			d.tell(true, "UnknownTimeZone", "invalid timeZone: %q: %s", *zone, err)
			return
		}
	}
	if ptr.Deref(d.spec.Suspend, false) {
		return
	}
	if hasZone(d.spec.Schedule) {
		d.tell(true, "UnsupportedSchedule", "CRON_TZ or TZ used in schedule %q is not officially supported, "+
			"see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details", d.spec.Schedule)
	}
	schedule, err := parse(d.CronJob)
	if err != nil {
		d.tell(true, "UnparseableSchedule", "unparseable schedule: %q : %s", d.spec.Schedule, err)
		return
	}
	at, missed, err := due(schedule, d.since(), d.Now)
	if err != nil {
		d.tell(true, "InvalidSchedule", "invalid schedule: %s : %s", d.spec.Schedule, err)
		return
	}
	if !at.IsZero() {
		d.start(at, missed)
	}
	d.again = max(untilNext(d.next, schedule, d.Now), justAfter)
}

// since is from when on missed runs are made up for: those are not that a new schedule would have had.
func (d *decision) since() time.Time {
	since := later(begun(d.next), d.Since)
	if seconds := d.spec.StartingDeadlineSeconds; seconds != nil {
		const most = math.MaxInt64 / int64(time.Second)
		since = later(since, d.Now.Add(-time.Duration(min(*seconds, most))*time.Second))
	}
	return since
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// start makes the job of a time, unless the policy has it wait for another one.
func (d *decision) start(at time.Time, missed int64) {
	if missed > many {
		d.tell(true, "TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
	}
	if !d.mayStart() {
		return
	}
	j := newJob(d.CronJob, at)
	d.writes = append(d.writes, run{
		Create: action.Create[*batchv1.Job]{In: jobsResource, Object: j, Tell: action.Tell{
			About: d.CronJob, Reason: "SuccessfulCreate", Message: "Created job " + j.Name,
			FailureReason: "FailedCreate", FailureBegin: "Error creating job: ",
		}},
		of: d.last, at: at,
	})
}

// mayStart follows the policy about jobs that are at work. What is not seen is not at work as far as the server says so: the
// cache may not show yet the job of the last time, which was late.
func (d *decision) mayStart() bool {
	switch d.spec.ConcurrencyPolicy {
	case batchv1.ForbidConcurrent:
		if len(d.next.Status.Active) > 0 {
			d.tell(false, "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
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
	d.asks = append(d.asks, action.Known[*batchv1.Job]{
		In: jobsResource, Owner: d.CronJob, Selector: labels.Everything(), Objects: d.Jobs,
	})
	return true
}
