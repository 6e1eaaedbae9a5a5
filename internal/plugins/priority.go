package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/scheduling"
)

var priorityClasses = schema.GroupResource{Group: schedulingv1.GroupName, Resource: "priorityclasses"}

// Priority resolves a pod's priority class to its numeric value and preemption policy. A pod without a class
// gets the default class, or 0 if there is none. Priority also rejects a second default class.
type Priority struct{}

// Name implements admission.Plugin.
func (Priority) Name() string { return "Priority" }

// Handles implements admission.Plugin.
func (Priority) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return (resource == pods || resource == priorityClasses) && sub == "" &&
		(op == admission.Create || op == admission.Update)
}

// Admit implements admission.Plugin. An update retains the priority that the pod was created with.
func (Priority) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	if old, updates := a.Old.(*corev1.Pod); updates && old != nil {
		if pod.Spec.Priority == nil {
			pod.Spec.Priority = old.Spec.Priority
		}
		if pod.Spec.PreemptionPolicy == nil {
			pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
		}
		return nil
	}
	class, err := classOf(ctx, a, pod, state)
	if err != nil {
		return err
	}
	return setPriority(a, pod, class)
}

// class holds the values that a priority class sets in a pod.
type class struct {
	name       string
	value      int32
	preemption corev1.PreemptionPolicy
}

// classOf returns the class that the pod names, or the default class.
func classOf(ctx context.Context, a *admission.Attributes, pod *corev1.Pod, state admission.Reader) (class, error) {
	name := pod.Spec.PriorityClassName
	if name == "" {
		return defaultClass(ctx, state)
	}
	for _, pc := range scheduling.SystemClasses() { // built in, even if their objects were deleted
		if pc.Name == name {
			return classFrom(pc), nil
		}
	}
	obj, err := state.Get(ctx, priorityClasses, "", name)
	if err != nil {
		return class{}, err
	}
	pc, ok := obj.(*schedulingv1.PriorityClass)
	if !ok || pc == nil {
		return class{}, a.Forbidden("no PriorityClass with name %v was found", name)
	}
	return classFrom(pc), nil
}

func classFrom(pc *schedulingv1.PriorityClass) class {
	out := class{pc.Name, pc.Value, corev1.PreemptLowerPriority}
	if pc.PreemptionPolicy != nil {
		out.preemption = *pc.PreemptionPolicy
	}
	return out
}

// defaultClass returns the class that is marked as the default: if several are, the one with the lowest
// value.
func defaultClass(ctx context.Context, state admission.Reader) (class, error) {
	chosen := class{preemption: corev1.PreemptLowerPriority}
	pc, err := findDefault(ctx, state)
	if pc != nil {
		chosen = classFrom(pc)
	}
	return chosen, err
}

// findDefault returns the default class with the lowest value, or nil if no class is marked.
func findDefault(ctx context.Context, state admission.Reader) (chosen *schedulingv1.PriorityClass, err error) {
	err = state.List(ctx, priorityClasses, "", func(obj kind.Object) bool {
		if pc, ok := obj.(*schedulingv1.PriorityClass); ok && pc.GlobalDefault &&
			(chosen == nil || pc.Value < chosen.Value) {
			chosen = pc
		}
		return true
	})
	return chosen, err
}

// setPriority sets the fields of the class in the pod. It returns an error if the pod sets a priority or a
// preemption policy that differs from the class.
func setPriority(a *admission.Attributes, pod *corev1.Pod, c class) error {
	if pod.Spec.Priority != nil && *pod.Spec.Priority != c.value {
		return a.Forbidden("the integer value of priority (%d) must not be provided in pod spec; "+
			"priority admission controller computed %d from the given PriorityClass name", *pod.Spec.Priority, c.value)
	}
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != c.preemption {
		return a.Forbidden("the string value of PreemptionPolicy (%s) must not be provided in pod spec; "+
			"priority admission controller computed %s from the given PriorityClass name", *pod.Spec.PreemptionPolicy,
			c.preemption)
	}
	pod.Spec.PriorityClassName = c.name
	pod.Spec.Priority = &c.value
	pod.Spec.PreemptionPolicy = &c.preemption
	return nil
}

// Validate implements admission.Plugin. Two concurrent creates of a default class may both succeed; then the lower
// value wins.
func (Priority) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	pc, ok := a.Object.(*schedulingv1.PriorityClass)
	if !ok || !pc.GlobalDefault {
		return nil
	}
	marked, err := findDefault(ctx, state)
	if err != nil || marked == nil || (a.Operation == admission.Update && marked.Name == pc.Name) {
		return err
	}
	return a.Forbidden("PriorityClass %v is already marked as default. Only one default can exist", marked.Name)
}
