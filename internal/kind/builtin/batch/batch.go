// Package batch is the kinds of the batch group: jobs, whose pods run until enough of them have succeeded, and cronjobs,
// which make jobs by a schedule. Each kind has its data, defaults and columns in a file of its name, and its rules in
// files beside that, one for each part of the spec or the status.
//
// What a rule refuses, and in which words, follows Kubernetes 1.36 (pkg/apis/batch/validation and pkg/registry/batch); the
// tests name the source of each. The pod templates are package core's. Package kind/builtin puts the kinds into a server's
// registry; nothing else calls this package.
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
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/object"
)

// Kinds are all kinds of the group, for one server, in discovery's order. The cache bounds their second encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{cronJobKind(cache), jobKind(cache)}
}

// nothing is the cell of a table that has nothing to show.
const nothing = "<none>"

// The columns that both kinds end with.
var templateColumns = []metav1.TableColumnDefinition{
	{Name: "Containers", Type: "string", Priority: 1, Description: "Names of each container in the template."},
	{Name: "Images", Type: "string", Priority: 1, Description: "Images referenced by each container in the template."},
	{Name: "Selector", Type: "string", Priority: 1, Description: batchv1.JobSpec{}.SwaggerDoc()["selector"]},
}

// templateCells are the cells of templateColumns.
func templateCells(spec *batchv1.JobSpec) []any {
	var names, images []string
	for _, c := range spec.Template.Spec.Containers {
		names, images = append(names, c.Name), append(images, c.Image)
	}
	return []any{strings.Join(names, ","), strings.Join(images, ","), metav1.FormatLabelSelector(spec.Selector)}
}

// nonNegative checks a number that may be left out.
func nonNegative[N int32 | int64](path *field.Path, value *N) field.ErrorList {
	if value != nil && *value < 0 {
		return field.ErrorList{field.Invalid(path, int64(*value), apivalidation.IsNegativeErrorMsg)}
	}
	return nil
}

// nameWarning recommends names that the pods can have as their hostnames.
func nameWarning(name string) []string {
	messages := validation.IsDNS1123Label(name)
	if len(messages) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(
		"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", messages)}
}

// Above these numbers an indexed job's status might not tell all indexes that failed.
const (
	manyCompletions = 100_000
	manyPods        = 10_000
)

// jobWarnings are those about a new or changed job that stands at path.
func jobWarnings(spec *batchv1.JobSpec, path *field.Path) (warnings []string) {
	if indexed(spec) && deref(spec.Completions) > manyCompletions && deref(spec.Parallelism) > manyPods {
		warnings = append(warnings, path.String()+": In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than "+
			"10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	return append(warnings, core.PodTemplateWarnings(&spec.Template, path.Child("template"))...)
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

// defaultFailurePolicy: a condition of a pod counts when it is true.
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
