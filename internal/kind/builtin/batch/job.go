package batch

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

// orphanWarning is the warning for the delete of a job without a propagation policy.
const orphanWarning = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them " +
	"or set propagationPolicy=Orphan to suppress this warning"

func jobKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "Job", Plural: "jobs", Singular: "job",
		Categories: []string{"all"},
		Namespaced: true,
		Generation: true,
		Endpoints: []kind.Endpoint{{
			Group: batchv1.GroupName, Version: "v1",
			Selectable: map[string]string{"status.successful": ""},
			Orphans:    true, OrphanWarning: orphanWarning,
			UnsupportedField: "field label %q not supported for Job",
		}},
		Subresources: []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
	}, kind.Rules[*batchv1.Job]{
		Default:  defaultJob,
		Prepare:  prepareJob,
		Validate: fieldcheck.WithFinalizers(validateJob),
		Warnings: jobWriteWarnings,
		Fields: func(j *batchv1.Job) map[string]string {
			return map[string]string{"status.successful": strconv.Itoa(int(j.Status.Succeeded))}
		},
		Columns: jobColumns,
		Row:     jobRow,
	})
}

// defaultJob sets one pod to succeed, with six retries. A job without labels gets the map of its pods'
// labels, shared so that labels that the server adds to the pods appear on the job too, as in Kubernetes.
func defaultJob(j *batchv1.Job) {
	spec := &j.Spec
	if spec.Completions == nil && spec.Parallelism == nil {
		spec.Completions = new(int32(1))
	}
	if spec.Parallelism == nil {
		spec.Parallelism = new(int32(1))
	}
	if spec.BackoffLimit == nil {
		spec.BackoffLimit = new(int32(6))
		if spec.BackoffLimitPerIndex != nil {
			spec.BackoffLimit = new(int32(math.MaxInt32))
		}
	}
	if spec.Template.Labels != nil && len(j.Labels) == 0 {
		j.Labels = spec.Template.Labels
	}
	if spec.CompletionMode == nil {
		spec.CompletionMode = new(batchv1.NonIndexedCompletion)
	}
	if spec.Suspend == nil {
		spec.Suspend = new(bool)
	}
	if spec.PodReplacementPolicy == nil {
		spec.PodReplacementPolicy = new(batchv1.TerminatingOrFailed)
		if spec.PodFailurePolicy != nil {
			spec.PodReplacementPolicy = new(batchv1.Failed)
		}
	}
	if spec.ManualSelector == nil {
		spec.ManualSelector = new(bool)
	}
	defaultFailurePolicy(spec.PodFailurePolicy)
	podspec.DefaultTemplate(&spec.Template)
}

// The legacy names of the labels with which a job selects its pods: its uid and its name. The current labels
// are set too.
const (
	oldUIDLabel  = "controller-uid"
	oldNameLabel = "job-name"
)

// prepareJob sets the selector of a new job. Labels that the user has set are retained; validation rejects
// wrong values.
func prepareJob(j, old *batchv1.Job, _ string) {
	if old != nil || deref(j.Spec.ManualSelector) {
		return
	}
	if j.Spec.Template.Labels == nil {
		j.Spec.Template.Labels = map[string]string{}
	}
	labels, uid := j.Spec.Template.Labels, string(j.UID)
	setMissing(labels, oldNameLabel, j.Name)
	setMissing(labels, batchv1.JobNameLabel, j.Name)
	setMissing(labels, oldUIDLabel, uid)
	setMissing(labels, batchv1.ControllerUidLabel, uid)
	if j.Spec.Selector == nil {
		j.Spec.Selector = &metav1.LabelSelector{}
	}
	if j.Spec.Selector.MatchLabels == nil {
		j.Spec.Selector.MatchLabels = map[string]string{}
	}
	setMissing(j.Spec.Selector.MatchLabels, batchv1.ControllerUidLabel, uid)
	if len(j.Labels) == 0 {
		j.Labels = labels
	}
}

func setMissing(labels map[string]string, name, value string) {
	if _, ok := labels[name]; !ok {
		labels[name] = value
	}
}

func jobWriteWarnings(j, old *batchv1.Job) (warnings []string) {
	if old == nil {
		warnings = nameWarning(j.Name)
	}
	if old == nil || j.Generation != old.Generation {
		warnings = append(warnings, jobWarnings(&j.Spec, field.NewPath("spec"))...)
	}
	return warnings
}

var jobColumns = slices.Concat([]metav1.TableColumnDefinition{
	kind.NameColumn,
	{Name: "Status", Type: "string", Description: "Status of the job."},
	{Name: "Completions", Type: "string", Description: batchv1.JobStatus{}.SwaggerDoc()["succeeded"]},
	{Name: "Duration", Type: "string", Description: "Time required to complete the job."},
	kind.AgeColumn,
}, templateColumns)

func jobRow(j *batchv1.Job, now time.Time) []any {
	cells := []any{j.Name, jobState(j), completions(j), jobDuration(&j.Status, now),
		kind.Age(j.CreationTimestamp.Time, now)}
	return append(cells, templateCells(&j.Spec)...)
}

// jobState returns the most significant condition of a job.
func jobState(j *batchv1.Job) string {
	for _, end := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if isTrue(j, end) {
			return string(end)
		}
	}
	if j.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, c := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget,
		batchv1.JobSuccessCriteriaMet} {
		if isTrue(j, c) {
			return string(c)
		}
	}
	return "Running"
}

// completions formats how many of the pods have succeeded. A job without completions ends when one pod
// succeeds and the others have terminated.
func completions(j *batchv1.Job) string {
	if n := j.Spec.Completions; n != nil {
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *n)
	}
	if n := deref(j.Spec.Parallelism); n > 1 {
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, n)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

func jobDuration(s *batchv1.JobStatus, now time.Time) string {
	switch {
	case s.StartTime == nil:
		return ""
	case s.CompletionTime == nil:
		return duration.HumanDuration(now.Sub(s.StartTime.Time))
	}
	return duration.HumanDuration(s.CompletionTime.Sub(s.StartTime.Time))
}

// isTrue reports whether a condition of a job is true.
func isTrue(j *batchv1.Job, condition batchv1.JobConditionType) bool {
	return hasCondition(j, condition, corev1.ConditionTrue)
}

func hasCondition(j *batchv1.Job, condition batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == condition && c.Status == status
	})
}
