package batch

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

func cronJobKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "CronJob", Plural: "cronjobs", Singular: "cronjob", ShortNames: []string{"cj"},
		Categories:   []string{"all"},
		Namespaced:   true,
		Generation:   true,
		Endpoints:    append([]kind.Endpoint{{Group: batchv1.GroupName, Version: "v1"}}, oldCronJobs...),
		Subresources: []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
	}, kind.Rules[*batchv1.CronJob]{
		Default:  defaultCronJob,
		Validate: fieldcheck.WithFinalizers(validateCronJob),
		Warnings: cronJobWarnings,
		Columns:  cronJobColumns,
		Row:      cronJobRow,
	})
}

// oldCronJobs are versions that Kubernetes has removed, the second one also from k8s.io/api; books and old
// manifests still use them. Their JSON and protobuf are those of v1, without its newest fields. The
// difference is that a delete orphans the jobs by default.
var oldCronJobs = []kind.Endpoint{
	{Group: batchv1.GroupName, Version: "v1beta1", Orphans: true,
		Deprecated: "batch/v1beta1 CronJob is deprecated in v1.21+, unavailable in v1.25+; use batch/v1 CronJob"},
	{Group: batchv1.GroupName, Version: "v2alpha1", Orphans: true,
		Deprecated: "batch/v2alpha1 CronJob is deprecated in v1.8+, unavailable in v1.21+; use batch/v1 CronJob"},
}

// defaultCronJob lets jobs overlap, and keeps the last three successful jobs and the last failed one. The
// defaults of the job template are applied when a job is created.
func defaultCronJob(c *batchv1.CronJob) {
	spec := &c.Spec
	if spec.ConcurrencyPolicy == "" {
		spec.ConcurrencyPolicy = batchv1.AllowConcurrent
	}
	if spec.Suspend == nil {
		spec.Suspend = new(bool)
	}
	if spec.SuccessfulJobsHistoryLimit == nil {
		spec.SuccessfulJobsHistoryLimit = new(int32(3))
	}
	if spec.FailedJobsHistoryLimit == nil {
		spec.FailedJobsHistoryLimit = new(int32(1))
	}
	defaultFailurePolicy(spec.JobTemplate.Spec.PodFailurePolicy)
	podspec.DefaultTemplate(&spec.JobTemplate.Spec.Template)
}

// longestCronJobName leaves room for the suffix of job names, the time in minutes, within the maximum length
// of a label value.
const longestCronJobName = 52

func validateCronJob(c, old *batchv1.CronJob, sub string) field.ErrorList {
	if sub == "status" {
		return nil
	}
	spec, path := &c.Spec, field.NewPath("spec")
	var wasSchedule string
	var wasTemplate *corev1.PodTemplateSpec
	if old != nil {
		wasSchedule, wasTemplate = old.Spec.Schedule, &old.Spec.JobTemplate.Spec.Template
	}
	errs := validateSchedule(spec.Schedule, wasSchedule, spec.TimeZone, path.Child("schedule"))
	errs = append(errs, nonNegative(path.Child("startingDeadlineSeconds"), spec.StartingDeadlineSeconds)...)
	if old == nil || !equality.Semantic.DeepEqual(old.Spec.TimeZone, spec.TimeZone) {
		errs = append(errs, validateZone(spec.TimeZone, path.Child("timeZone"))...)
	}
	errs = append(errs, validateConcurrency(spec.ConcurrencyPolicy, path.Child("concurrencyPolicy"))...)
	errs = append(errs, validateJobTemplate(&spec.JobTemplate.Spec, wasTemplate, path.Child("jobTemplate", "spec"))...)
	errs = append(errs, nonNegative(path.Child("successfulJobsHistoryLimit"), spec.SuccessfulJobsHistoryLimit)...)
	errs = append(errs, nonNegative(path.Child("failedJobsHistoryLimit"), spec.FailedJobsHistoryLimit)...)
	if old == nil && len(c.Name) > longestCronJobName {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), c.Name,
			"must be no more than 52 characters"))
	}
	return errs
}

func validateConcurrency(policy batchv1.ConcurrencyPolicy, path *field.Path) field.ErrorList {
	all := []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}
	if !slices.Contains(all, policy) {
		return field.ErrorList{field.NotSupported(path, policy, all)}
	}
	return nil
}

// validateJobTemplate validates a job template: it must not have a selector, which the server sets.
func validateJobTemplate(spec *batchv1.JobSpec, old *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	errs := validateJobSpec(spec, old, path)
	if spec.Selector != nil {
		errs = append(errs, field.Invalid(path.Child("selector"), spec.Selector, "`selector` will be auto-generated"))
	}
	if deref(spec.ManualSelector) {
		errs = append(errs, field.NotSupported(path.Child("manualSelector"), *spec.ManualSelector,
			[]string{"nil", "false"}))
	}
	return errs
}

func cronJobWarnings(c, old *batchv1.CronJob) (warnings []string) {
	if old == nil {
		warnings = nameWarning(c.Name)
	}
	if old == nil || c.Generation != old.Generation {
		warnings = append(warnings, jobWarnings(&c.Spec.JobTemplate.Spec,
			field.NewPath("spec", "jobTemplate", "spec"))...)
	}
	if old != nil && strings.Contains(c.Spec.Schedule, "TZ") {
		warnings = append(warnings, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, "+
			"see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
	return warnings
}

var cronJobColumns = slices.Concat([]metav1.TableColumnDefinition{
	kind.NameColumn,
	{Name: "Schedule", Type: "string", Description: batchv1.CronJobSpec{}.SwaggerDoc()["schedule"]},
	{Name: "Timezone", Type: "string", Description: batchv1.CronJobSpec{}.SwaggerDoc()["timeZone"]},
	{Name: "Suspend", Type: "boolean", Description: batchv1.CronJobSpec{}.SwaggerDoc()["suspend"]},
	{Name: "Active", Type: "integer", Description: batchv1.CronJobStatus{}.SwaggerDoc()["active"]},
	{Name: "Last Schedule", Type: "string", Description: batchv1.CronJobStatus{}.SwaggerDoc()["lastScheduleTime"]},
	kind.AgeColumn,
}, templateColumns)

func cronJobRow(c *batchv1.CronJob, now time.Time) []any {
	last, zone, suspend := nothing, nothing, "<unset>"
	if t := c.Status.LastScheduleTime; t != nil {
		last = kind.Age(t.Time, now)
	}
	if c.Spec.TimeZone != nil {
		zone = *c.Spec.TimeZone
	}
	if s := c.Spec.Suspend; s != nil {
		suspend = "False"
		if *s {
			suspend = "True"
		}
	}
	cells := []any{c.Name, c.Spec.Schedule, zone, suspend, int64(len(c.Status.Active)), last,
		kind.Age(c.CreationTimestamp.Time, now)}
	return append(cells, templateCells(&c.Spec.JobTemplate.Spec)...)
}
