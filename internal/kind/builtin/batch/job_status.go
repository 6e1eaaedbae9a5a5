package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// Any controller may manage a job (spec.managedBy), so the server enforces what users rely on: a finished job
// remains finished, and its status is consistent. Most rules check only what a write changes, so that an
// unrelated change of an inconsistent status is accepted.

// statusChange is a write of a job's status.
type statusChange struct {
	job, old *batchv1.Job
	path     *field.Path
	errs     field.ErrorList
}

func validateJobStatus(j, old *batchv1.Job) field.ErrorList {
	w := &statusChange{job: j, old: old, path: field.NewPath("status")}
	w.checkCounts()
	w.checkConditions()
	w.checkFinished()
	w.checkIndexes()
	w.checkPods()
	w.checkSuccess()
	w.checkMonotonic()
	return w.errs
}

func (w *statusChange) invalid(name string, value any, message string) {
	w.errs = append(w.errs, field.Invalid(w.path.Child(name), value, message))
}

func (w *statusChange) conditions(message string) {
	w.invalid("conditions", field.OmitValueType{}, message)
}

func (w *statusChange) required(name, message string) {
	w.errs = append(w.errs, field.Required(w.path.Child(name), message))
}

// changes reports whether a write changes a condition to or from true.
func (w *statusChange) changes(condition batchv1.JobConditionType) bool {
	return isTrue(w.job, condition) != isTrue(w.old, condition)
}

func (w *statusChange) started() bool {
	return !sameTime(w.job.Status.StartTime, w.old.Status.StartTime)
}
func (w *statusChange) completed() bool {
	return !sameTime(w.job.Status.CompletionTime, w.old.Status.CompletionTime)
}

func sameTime(a, b *metav1.Time) bool { return equality.Semantic.DeepEqual(a, b) }

func isFinished(j *batchv1.Job) bool {
	return isTrue(j, batchv1.JobComplete) || isTrue(j, batchv1.JobFailed)
}

// checkCounts validates counts and the lists of uncounted pods.
func (w *statusChange) checkCounts() {
	s := &w.job.Status
	for _, n := range []struct {
		name  string
		value *int32
	}{{"active", &s.Active}, {"succeeded", &s.Succeeded}, {"failed", &s.Failed}, {"ready", s.Ready}, {"terminating",
		s.Terminating}} {
		w.errs = append(w.errs, nonNegative(w.path.Child(n.name), n.value)...)
	}
	if s.UncountedTerminatedPods == nil {
		return
	}
	seen, path := map[types.UID]bool{}, w.path.Child("uncountedTerminatedPods")
	w.uids(s.UncountedTerminatedPods.Succeeded, seen, path.Child("succeeded"))
	w.uids(s.UncountedTerminatedPods.Failed, seen, path.Child("failed"))
}

func (w *statusChange) uids(uids []types.UID, seen map[types.UID]bool, path *field.Path) {
	for i, uid := range uids {
		switch {
		case uid == "":
			w.errs = append(w.errs, field.Invalid(path.Index(i), uid, "must not be empty"))
		case seen[uid]:
			w.errs = append(w.errs, field.Duplicate(path.Index(i), uid))
		}
		seen[uid] = true
	}
}

// checkConditions checks that conditions are consistent with each other and with the times.
func (w *statusChange) checkConditions() {
	s := &w.job.Status
	complete, failed := isTrue(w.job, batchv1.JobComplete), isTrue(w.job, batchv1.JobFailed)
	completeChanges, failedChanges := w.changes(batchv1.JobComplete), w.changes(batchv1.JobFailed)
	if (completeChanges || failedChanges) && complete && failed {
		w.conditions("cannot set Complete=True and Failed=true conditions")
	}
	if (completeChanges || w.changes(batchv1.JobFailureTarget)) && complete && isTrue(w.job, batchv1.JobFailureTarget) {
		w.conditions("cannot set Complete=True and FailureTarget=true conditions")
	}
	if completeChanges || w.completed() {
		if s.CompletionTime != nil && !complete {
			w.invalid("completionTime", s.CompletionTime,
				"cannot set completionTime when there is no Complete=True condition")
		}
		if s.CompletionTime == nil && complete {
			w.required("completionTime", "completionTime is required for Complete jobs")
		}
	}
	if (w.started() || w.completed()) && s.StartTime != nil && s.CompletionTime != nil &&
		s.CompletionTime.Before(s.StartTime) {
		w.invalid("completionTime", s.CompletionTime, "must be equal to or after `startTime`")
	}
	if (failedChanges || w.failedIndexesChange()) && failed && !isTrue(w.job, batchv1.JobFailureTarget) {
		w.conditions("cannot set Failed=True condition without the FailureTarget=true condition")
	}
	if (completeChanges || w.changes(batchv1.JobSuccessCriteriaMet)) && complete &&
		!isTrue(w.job, batchv1.JobSuccessCriteriaMet) {
		w.conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
	}
}

func (w *statusChange) failedIndexesChange() bool {
	return !equality.Semantic.DeepEqual(w.job.Status.FailedIndexes, w.old.Status.FailedIndexes)
}

// checkFinished checks that a finished job has no active or uncounted pods.
func (w *statusChange) checkFinished() {
	if !isFinished(w.job) {
		return
	}
	s, was := &w.job.Status, &w.old.Status
	now := !isFinished(w.old)
	if (now || s.Active != was.Active) && s.Active > 0 {
		w.invalid("active", s.Active, "active>0 is invalid for finished job")
	}
	none := deref(w.job.Spec.Suspend) && w.job.Spec.Completions != nil && *w.job.Spec.Completions == 0
	if (now || w.started()) && !none && s.StartTime == nil {
		w.required("startTime", "startTime is required for finished job")
	}
	u := s.UncountedTerminatedPods
	if (now || !equality.Semantic.DeepEqual(u, was.UncountedTerminatedPods)) && u != nil &&
		len(u.Failed)+len(u.Succeeded) > 0 {
		w.invalid("uncountedTerminatedPods", podspec.Layout(u), "must be empty for finished job")
	}
}

// checkIndexes validates the lists of completed and failed indexes of an indexed job.
func (w *statusChange) checkIndexes() {
	s, spec := &w.job.Status, &w.job.Spec
	completedChange, failedChange := s.CompletedIndexes != w.old.Status.CompletedIndexes, w.failedIndexesChange()
	if completedChange && spec.Completions != nil {
		if _, err := countIndexes(s.CompletedIndexes, *spec.Completions); err != nil {
			w.invalid("completedIndexes", s.CompletedIndexes, "error parsing completedIndexes: "+err.Error())
		}
	}
	if failedChange && spec.Completions != nil && spec.BackoffLimitPerIndex != nil && s.FailedIndexes != nil {
		if _, err := countIndexes(*s.FailedIndexes, *spec.Completions); err != nil {
			w.invalid("failedIndexes", *s.FailedIndexes, "error parsing failedIndexes: "+err.Error())
		}
	}
	if completedChange && s.CompletedIndexes != "" && !indexed(spec) {
		w.invalid("completedIndexes", s.CompletedIndexes,
			"cannot set non-empty completedIndexes when non-indexed completion mode")
	}
	if failedChange && spec.BackoffLimitPerIndex == nil && s.FailedIndexes != nil {
		w.invalid("failedIndexes", *s.FailedIndexes,
			"cannot set non-null failedIndexes when backoffLimitPerIndex is null")
	}
	if (completedChange || failedChange) && spec.Completions != nil && s.FailedIndexes != nil {
		if err := disjoint(s.CompletedIndexes, *s.FailedIndexes, *spec.Completions); err != nil {
			w.invalid("failedIndexes", *s.FailedIndexes, err.Error())
		}
	}
}

// checkPods checks the counts of pods against each other, and against the job's completion.
func (w *statusChange) checkPods() {
	s, was := &w.job.Status, &w.old.Status
	now := isFinished(w.job) != isFinished(w.old)
	if (now || !equality.Semantic.DeepEqual(s.Terminating, was.Terminating)) && deref(s.Terminating) > 0 &&
		isFinished(w.job) {
		w.invalid("terminating", s.Terminating, "terminating>0 is invalid for finished job")
	}
	if (s.Active != was.Active || !equality.Semantic.DeepEqual(s.Ready, was.Ready)) && s.Ready != nil &&
		*s.Ready > s.Active {
		w.invalid("ready", *s.Ready, "cannot set more ready pods than active")
	}
}

// checkSuccess checks that a job does not both succeed and fail, and that a job with a success policy completes by
// meeting it.
func (w *statusChange) checkSuccess() {
	met := isTrue(w.job, batchv1.JobSuccessCriteriaMet)
	if met && isTrue(w.job, batchv1.JobFailed) {
		w.conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")
	}
	if met && isTrue(w.job, batchv1.JobFailureTarget) {
		w.conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
	}
	if w.job.Spec.SuccessPolicy != nil && !met && isTrue(w.job, batchv1.JobComplete) {
		w.conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
	}
}

// checkMonotonic checks that terminal conditions and counts are not reverted.
func (w *statusChange) checkMonotonic() {
	s, was := &w.job.Status, &w.old.Status
	for _, end := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget} {
		if isTrue(w.old, end) && !isTrue(w.job, end) {
			w.conditions(fmt.Sprintf("cannot disable the terminal %s=True condition", end))
		}
	}
	if s.Failed < was.Failed {
		w.invalid("failed", s.Failed, "cannot decrease the failed counter")
	}
	scales := indexed(&w.job.Spec) && equality.Semantic.DeepEqual(w.job.Spec.Completions, w.job.Spec.Parallelism)
	if s.Succeeded < was.Succeeded && !scales {
		w.invalid("succeeded", s.Succeeded, "cannot decrease the succeeded counter")
	}
	if s.CompletionTime != nil && was.CompletionTime != nil && w.completed() {
		w.invalid("completionTime", s.CompletionTime, "field is immutable")
	}
	resumes := isTrue(w.old, batchv1.JobSuspended) && hasCondition(w.job, batchv1.JobSuspended, corev1.ConditionFalse)
	if was.StartTime != nil && w.started() && !resumes && !deref(w.job.Spec.Suspend) {
		w.invalid("startTime", s.StartTime, "field is immutable for unsuspended job once set")
	}
	metBefore, met := isTrue(w.old, batchv1.JobSuccessCriteriaMet), isTrue(w.job, batchv1.JobSuccessCriteriaMet)
	if metBefore && !met {
		w.conditions("cannot disable the SuccessCriteriaMet=True condition")
	}
	if isTrue(w.old, batchv1.JobComplete) && !metBefore && met {
		w.conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
	}
}
