// Package scheduling is the kinds of the scheduling.k8s.io group: priority classes. What a rule refuses, and in which
// words, follows Kubernetes (pkg/apis/scheduling/validation). Package kind/builtin puts the kinds into a server's
// registry and the system's classes into its store; package admission resolves the classes of pods.
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
	"github.com/bowline-dev/bowline/object"
)

// highestUserPriority is the highest value of a class that is not one of the system's.
const highestUserPriority = int32(1000000000)

// systemPrefix begins the names of the system's classes.
const systemPrefix = "system-"

// SystemClasses are the classes that every cluster has. They belong to the caller.
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

// Kinds are all kinds of the group, for one server. The cache bounds their second encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{priorityClassKind(cache)}
}

func priorityClassKind(cache *object.Cache) kind.Kind {
	docs := schedulingv1.PriorityClass{}.SwaggerDoc()
	return kind.NewTyped(cache, kind.Info{
		Kind: "PriorityClass", Plural: "priorityclasses", Singular: "priorityclass", ShortNames: []string{"pc"},
		Endpoints:  []kind.Endpoint{{Group: schedulingv1.GroupName, Version: "v1"}},
		Generation: true,
	}, kind.Rules[*schedulingv1.PriorityClass]{
		Default:  defaultPriorityClass,
		Validate: validatePriorityClass,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Value", Type: "integer", Description: docs["value"]},
			{Name: "Global-Default", Type: "boolean", Description: docs["globalDefault"]},
			kind.AgeColumn,
			{Name: "PreemptionPolicy", Type: "string", Description: docs["preemptionPolicy"]},
		},
		Row: func(pc *schedulingv1.PriorityClass, now time.Time) []any {
			return []any{pc.Name, int64(pc.Value), pc.GlobalDefault, kind.Age(pc.CreationTimestamp.Time, now), preemption(pc)}
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
			errs = append(errs, field.Invalid(field.NewPath("preemptionPolicy"), pc.PreemptionPolicy, "field is immutable"))
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

// notSystem says why a class is not one of the system's, as every cluster has them; empty when it is one.
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
