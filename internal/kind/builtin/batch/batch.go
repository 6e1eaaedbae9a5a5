// Package batch defines the kinds of the batch group: jobs and cronjobs. Each kind has its data, defaults and
// columns in the file of its name, and its rules in further files, one for each part of the spec or the
// status.
//
// Validation follows Kubernetes 1.36 (pkg/apis/batch/validation and pkg/registry/batch); the tests name the
// source of each rule. Package podspec validates pod templates. Package internal/kind/builtin registers the
// kinds; no other package uses this one.
package batch

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server, in discovery's order. cache bounds the memory for
// cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{cronJobKind(cache), jobKind(cache)}
}

// nothing is the table cell for a missing value.
const nothing = "<none>"

// templateColumns are the last columns of both kinds.
var templateColumns = []metav1.TableColumnDefinition{
	{Name: "Containers", Type: "string", Priority: 1, Description: "Names of each container in the template."},
	{Name: "Images", Type: "string", Priority: 1, Description: "Images referenced by each container in the template."},
	{Name: "Selector", Type: "string", Priority: 1, Description: batchv1.JobSpec{}.SwaggerDoc()["selector"]},
}

// templateCells returns the cells of templateColumns.
func templateCells(spec *batchv1.JobSpec) []any {
	var names, images []string
	for _, c := range spec.Template.Spec.Containers {
		names, images = append(names, c.Name), append(images, c.Image)
	}
	return []any{strings.Join(names, ","), strings.Join(images, ","), metav1.FormatLabelSelector(spec.Selector)}
}

// nonNegative validates an optional number.
func nonNegative[N int32 | int64](path *field.Path, value *N) field.ErrorList {
	if value != nil && *value < 0 {
		return field.ErrorList{field.Invalid(path, int64(*value), apivalidation.IsNegativeErrorMsg)}
	}
	return nil
}

// nameWarning recommends names that are valid as host names of the pods.
func nameWarning(name string) []string {
	messages := validation.IsDNS1123Label(name)
	if len(messages) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(
		"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", messages)}
}

// Above both limits, the status of an indexed job may not be able to hold all failed indexes.
const (
	manyCompletions = 100_000
	manyPods        = 10_000
)

// jobWarnings warns about a new or changed job spec at path.
func jobWarnings(spec *batchv1.JobSpec, path *field.Path) (warnings []string) {
	if indexed(spec) && deref(spec.Completions) > manyCompletions && deref(spec.Parallelism) > manyPods {
		warnings = append(warnings,
			path.String()+
				": In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than "+
				"10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	return append(warnings, podspec.TemplateWarnings(&spec.Template, path.Child("template"))...)
}

func indexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}

func deref[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// defaultFailurePolicy sets the status of pod conditions to True.
func defaultFailurePolicy(policy *batchv1.PodFailurePolicy) {
	if policy == nil {
		return
	}
	for _, rule := range policy.Rules {
		for i := range rule.OnPodConditions {
			if p := &rule.OnPodConditions[i]; p.Status == "" {
				p.Status = corev1.ConditionTrue
			}
		}
	}
}
