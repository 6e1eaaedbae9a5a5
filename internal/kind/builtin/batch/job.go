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
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/object"
)

// orphanedPods is what a delete hears that says nothing of a job's pods.
const orphanedPods = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them " +
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
			Orphans:    true, OrphanWarning: orphanedPods,
		}},
		Subresources: []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
	}, kind.Rules[*batchv1.Job]{
		Default:  defaultJob,
		Prepare:  prepareJob,
		Validate: validateJob,
		Warnings: warnOfJob,
		Fields: func(j *batchv1.Job) map[string]string {
			return map[string]string{"status.successful": strconv.Itoa(int(j.Status.Succeeded))}
		},
		Columns: jobColumns,
		Row:     jobRow,
	})
}

// defaultJob: one pod that is to succeed, and may fail six times. A job without labels gets those of its pods: the same
// map, so that what the server adds to the pods' shows on the job too, as in Kubernetes.
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
	core.DefaultPodTemplate(&spec.Template)
}

// The labels by which a job finds its pods: its uid and its name, each under the name that it had before as well.
const (
	oldUIDLabel  = "controller-uid"
	oldNameLabel = "job-name"
)

// prepareJob gives a new job the selector of its own pods. Where the user has set one of the labels, it stays, and
// validation tells when it is wrong.
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

func warnOfJob(j, old *batchv1.Job) (warnings []string) {
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
	cells := []any{j.Name, jobState(j), completions(j), jobDuration(&j.Status, now), kind.Age(j.CreationTimestamp.Time, now)}
	return append(cells, templateCells(&j.Spec)...)
}

// jobState is the condition that says most of a job.
func jobState(j *batchv1.Job) string {
	for _, end := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if isTrue(j, end) {
			return string(end)
		}
	}
	if j.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, c := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if isTrue(j, c) {
			return string(c)
		}
	}
	return "Running"
}

// completions is how many pods have succeeded, of how many. A job that does not say how many ends when one has, and the
// others then end by themselves.
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

// isTrue says whether a condition of a job is there and true.
func isTrue(j *batchv1.Job, condition batchv1.JobConditionType) bool {
	return hasCondition(j, condition, corev1.ConditionTrue)
}

func hasCondition(j *batchv1.Job, condition batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == condition && c.Status == status })
}
