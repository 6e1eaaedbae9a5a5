package plugins

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

var runtimeClasses = schema.GroupResource{Group: nodev1.GroupName, Resource: "runtimeclasses"}

// RuntimeClass adds the overhead, the node selector and the tolerations of a pod's runtime class to the pod, and
// rejects pods whose class does not exist.
type RuntimeClass struct{}

// Name implements admission.Plugin.
func (RuntimeClass) Name() string { return "RuntimeClass" }

// Handles implements admission.Plugin.
func (RuntimeClass) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == pods && sub == "" && op == admission.Create
}

// Admit implements admission.Plugin.
func (RuntimeClass) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	pod, class, err := runtimeClassOf(ctx, a, state)
	if class == nil || err != nil {
		return err
	}
	if class.Overhead != nil {
		if len(pod.Spec.Overhead) > 0 && !equality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return a.Forbidden("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
		}
		pod.Spec.Overhead = class.Overhead.DeepCopy().PodFixed
	}
	if class.Scheduling == nil {
		return nil
	}
	for key, value := range class.Scheduling.NodeSelector {
		if own, has := pod.Spec.NodeSelector[key]; has && own != value {
			return a.Forbidden("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = "+
				"%s", key, value, key, own)
		}
	}
	if pod.Spec.NodeSelector == nil && len(class.Scheduling.NodeSelector) > 0 {
		pod.Spec.NodeSelector = map[string]string{}
	}
	maps.Copy(pod.Spec.NodeSelector, class.Scheduling.NodeSelector)
	if n := len(pod.Spec.Tolerations) + len(class.Scheduling.Tolerations); n > maxTolerations {
		return a.Forbidden("pod rejected: the pod and its RuntimeClass have %d tolerations: at most %d are merged", n,
			maxTolerations)
	}
	pod.Spec.Tolerations = mergeTolerations(pod.Spec.Tolerations, class.Scheduling.DeepCopy().Tolerations)
	return nil
}

// Validate implements admission.Plugin. It rejects a pod whose overhead differs from its class: a client or another
// plugin may have set it.
func (RuntimeClass) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	pod, class, err := runtimeClassOf(ctx, a, state)
	switch {
	case pod == nil || err != nil:
		return err
	case class != nil && class.Overhead != nil:
		if !equality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return a.Forbidden("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
		}
	case pod.Spec.Overhead != nil:
		return a.Forbidden("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
	}
	return nil
}

// runtimeClassOf returns the pod of a write and its class; each may be nil.
func runtimeClassOf(ctx context.Context, a *admission.Attributes,
	state admission.Reader) (*corev1.Pod, *nodev1.RuntimeClass, error) {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || pod.Spec.RuntimeClassName == nil {
		return pod, nil, nil
	}
	obj, err := state.Get(ctx, runtimeClasses, "", *pod.Spec.RuntimeClassName)
	if err != nil {
		return nil, nil, err
	}
	class, ok := obj.(*nodev1.RuntimeClass)
	if !ok || class == nil {
		return nil, nil, a.Forbidden("pod rejected: RuntimeClass %q not found", *pod.Spec.RuntimeClassName)
	}
	return pod, class, nil
}

// maxTolerations is the number of tolerations that are merged, because each is compared with each other.
const maxTolerations = 1_000

// mergeTolerations returns the tolerations of both lists, without those that another toleration covers. Of equal ones,
// it returns the first.
func mergeTolerations(first, second []corev1.Toleration) (merged []corev1.Toleration) {
	all := slices.Concat(first, second)
	for i, t := range all {
		covered := false
		for _, kept := range merged {
			covered = covered || covers(kept, t)
		}
		for _, later := range all[i+1:] {
			covered = covered || covers(later, t) && !equality.Semantic.DeepEqual(t, later)
		}
		if !covered {
			merged = append(merged, t)
		}
	}
	return merged
}

// covers reports whether the toleration by tolerates every taint that t tolerates.
func covers(by, t corev1.Toleration) bool {
	if equality.Semantic.DeepEqual(by, t) {
		return true
	}
	anyKey := by.Key == "" && by.Operator == corev1.TolerationOpExists
	if t.Key != by.Key && !anyKey || t.Effect != by.Effect && by.Effect != "" {
		return false
	}
	if by.Effect == corev1.TaintEffectNoExecute && by.TolerationSeconds != nil &&
		(t.TolerationSeconds == nil || *t.TolerationSeconds > *by.TolerationSeconds) {
		return false
	}
	switch by.Operator {
	case corev1.TolerationOpEqual, "":
		return t.Operator == corev1.TolerationOpEqual && t.Value == by.Value
	case corev1.TolerationOpExists:
		return true
	}
	return false
}
