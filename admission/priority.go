package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/scheduling"
)

var priorityClasses = schema.GroupResource{Group: schedulingv1.GroupName, Resource: "priorityclasses"}

// Priority writes the number behind a pod's priority class into the pod. Without a class it is that of the default
// class, or 0. And it refuses a second default class.
type Priority struct{}

// Name implements Plugin.
func (Priority) Name() string { return "Priority" }

// Handles implements Plugin.
func (Priority) Handles(op Operation, resource schema.GroupResource, sub string) bool {
	return (resource == pods || resource == priorityClasses) && sub == "" && (op == Create || op == Update)
}

// Admit implements Plugin. An update keeps the priority that the pod was created with.
func (Priority) Admit(ctx context.Context, a *Attributes, state Reader) error {
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

// class is what a pod gets from its priority class.
type class struct {
	name       string
	value      int32
	preemption corev1.PreemptionPolicy
}

// classOf finds the pod's class, or the default one.
func classOf(ctx context.Context, a *Attributes, pod *corev1.Pod, state Reader) (class, error) {
	name := pod.Spec.PriorityClassName
	if name == "" {
		return defaultClass(ctx, state)
	}
	for _, pc := range scheduling.SystemClasses() { // they count also where somebody has deleted them
		if pc.Name == name {
			return fromObject(pc), nil
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
	return fromObject(pc), nil
}

func fromObject(pc *schedulingv1.PriorityClass) class {
	out := class{pc.Name, pc.Value, corev1.PreemptLowerPriority}
	if pc.PreemptionPolicy != nil {
		out.preemption = *pc.PreemptionPolicy
	}
	return out
}

// defaultClass is the class that is marked as default: of several, the one with the lowest value.
func defaultClass(ctx context.Context, state Reader) (class, error) {
	chosen := class{preemption: corev1.PreemptLowerPriority}
	pc, err := markedAsDefault(ctx, state)
	if pc != nil {
		chosen = fromObject(pc)
	}
	return chosen, err
}

// markedAsDefault is nil when no class is.
func markedAsDefault(ctx context.Context, state Reader) (chosen *schedulingv1.PriorityClass, err error) {
	err = state.List(ctx, priorityClasses, "", func(obj kind.Object) bool {
		if pc, ok := obj.(*schedulingv1.PriorityClass); ok && pc.GlobalDefault && (chosen == nil || pc.Value < chosen.Value) {
			chosen = pc
		}
		return true
	})
	return chosen, err
}

// setPriority writes what the class says into the pod. A pod that names a priority of its own must name its class's.
func setPriority(a *Attributes, pod *corev1.Pod, c class) error {
	if pod.Spec.Priority != nil && *pod.Spec.Priority != c.value {
		return a.Forbidden("the integer value of priority (%d) must not be provided in pod spec; "+
			"priority admission controller computed %d from the given PriorityClass name", *pod.Spec.Priority, c.value)
	}
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != c.preemption {
		return a.Forbidden("the string value of PreemptionPolicy (%s) must not be provided in pod spec; "+
			"priority admission controller computed %s from the given PriorityClass name", *pod.Spec.PreemptionPolicy, c.preemption)
	}
	pod.Spec.PriorityClassName = c.name
	pod.Spec.Priority = &c.value
	pod.Spec.PreemptionPolicy = &c.preemption
	return nil
}

// Validate implements Plugin. Two classes marked as default at the same moment may both get by; the lower one counts then.
func (Priority) Validate(ctx context.Context, a *Attributes, state Reader) error {
	pc, ok := a.Object.(*schedulingv1.PriorityClass)
	if !ok || !pc.GlobalDefault {
		return nil
	}
	marked, err := markedAsDefault(ctx, state)
	if err != nil || marked == nil || (a.Operation == Update && marked.Name == pc.Name) {
		return err
	}
	return a.Forbidden("PriorityClass %v is already marked as default. Only one default can exist", marked.Name)
}
