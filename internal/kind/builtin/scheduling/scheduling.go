// Package scheduling defines the kinds of the scheduling.k8s.io group: priority classes. Validation follows
// Kubernetes (pkg/apis/scheduling/validation). Package internal/kind/builtin registers the kinds and creates
// the system's classes; the admission plugin Priority resolves the classes of pods.
package scheduling

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// highestUserPriority is the highest value of a class that is not a system class.
const highestUserPriority = int32(1000000000)

// systemPrefix is the prefix of the names of system classes.
const systemPrefix = "system-"

// SystemClasses returns new copies of the classes that every cluster has.
func SystemClasses() []*schedulingv1.PriorityClass {
	return []*schedulingv1.PriorityClass{
		system("system-cluster-critical", 2*highestUserPriority,
			"Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."),
		system("system-node-critical", 2*highestUserPriority+1000,
			"Used for system critical pods that must not be moved from their current node."),
	}
}

func system(name string, value int32, description string) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{
		TypeMeta:   metav1.TypeMeta{Kind: "PriorityClass", APIVersion: schedulingv1.SchemeGroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, Description: description,
	}
}

// Kinds returns all kinds of the group, for one server. cache bounds the memory for cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{priorityClassKind(cache)}
}

func priorityClassKind(cache *object.Cache) kind.Kind {
	docs := schedulingv1.PriorityClass{}.SwaggerDoc()
	return kind.NewTyped(cache, kind.Info{
		Kind: "PriorityClass", Plural: "priorityclasses", Singular: "priorityclass", ShortNames: []string{"pc"},
		Endpoints:  []kind.Endpoint{{Group: schedulingv1.GroupName, Version: "v1"}},
		Generation: true,
		Undeletable: func(name string) string {
			for _, s := range SystemClasses() {
				if s.Name == name {
					return "this is a system priority class and cannot be deleted"
				}
			}
			return ""
		},
	}, kind.Rules[*schedulingv1.PriorityClass]{
		Default:  defaultPriorityClass,
		Validate: fieldcheck.WithFinalizers(validatePriorityClass),
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Value", Type: "integer", Description: docs["value"]},
			{Name: "Global-Default", Type: "boolean", Description: docs["globalDefault"]},
			kind.AgeColumn,
			{Name: "PreemptionPolicy", Type: "string", Description: docs["preemptionPolicy"]},
		},
		Row: func(pc *schedulingv1.PriorityClass, now time.Time) []any {
			return []any{pc.Name, int64(pc.Value), pc.GlobalDefault, kind.Age(pc.CreationTimestamp.Time, now),
				preemption(pc)}
		},
	})
}

func defaultPriorityClass(pc *schedulingv1.PriorityClass) {
	if pc.PreemptionPolicy == nil {
		lower := corev1.PreemptLowerPriority
		pc.PreemptionPolicy = &lower
	}
}

func preemption(pc *schedulingv1.PriorityClass) string {
	if pc.PreemptionPolicy == nil {
		return ""
	}
	return string(*pc.PreemptionPolicy)
}

func validatePriorityClass(pc, old *schedulingv1.PriorityClass, _ string) (errs field.ErrorList) {
	if old != nil {
		if pc.Value != old.Value {
			errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
		}
		if preemption(pc) != preemption(old) {
			errs = append(errs, field.Invalid(field.NewPath("preemptionPolicy"), pc.PreemptionPolicy,
				"field is immutable"))
		}
		return errs
	}
	if strings.HasPrefix(pc.Name, systemPrefix) {
		if reason := notSystem(pc); reason != "" {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"),
				"priority class names with '"+systemPrefix+"' prefix are reserved for system use only. error: "+reason))
		}
	} else if pc.Value > highestUserPriority {
		errs = append(errs, field.Forbidden(field.NewPath("value"),
			fmt.Sprintf("maximum allowed value of a user defined priority is %v", highestUserPriority)))
	}
	policies := []corev1.PreemptionPolicy{corev1.PreemptLowerPriority, corev1.PreemptNever}
	if p := corev1.PreemptionPolicy(preemption(pc)); !slices.Contains(policies, p) {
		errs = append(errs, field.NotSupported(field.NewPath("preemptionPolicy"), p, policies))
	}
	return errs
}

// notSystem returns the difference between a class and the system class of its name, or "" if there is none.
func notSystem(pc *schedulingv1.PriorityClass) string {
	for _, s := range SystemClasses() {
		switch {
		case s.Name != pc.Name:
		case s.Value != pc.Value:
			return fmt.Sprintf("value of %v PriorityClass must be %v", s.Name, s.Value)
		case s.GlobalDefault != pc.GlobalDefault:
			return fmt.Sprintf("globalDefault of %v PriorityClass must be %v", s.Name, s.GlobalDefault)
		default:
			return ""
		}
	}
	return pc.Name + " is not a known system priority class"
}
