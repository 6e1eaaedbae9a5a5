package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// podBinding assigns a pod to a node. It is the only way to set spec.nodeName after the create.
var podBinding = kind.Subresource{
	Name:  "binding",
	Kind:  schema.GroupVersionKind{Version: "v1", Kind: "Binding"},
	Verbs: []string{"create"},
	New:   func() runtime.Object { return &corev1.Binding{} },
	Apply: func(obj kind.Object, body runtime.Object) error {
		return bindPod(obj.(*corev1.Pod), body.(*corev1.Binding))
	},
}

// bindPod applies a binding to a pod. It returns a conflict for a pod that has a node, is being deleted, or
// waits for gates.
func bindPod(pod *corev1.Pod, binding *corev1.Binding) error {
	if binding.Name != pod.Name {
		return apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if errs := validateBinding(binding); len(errs) > 0 {
		return kind.NewInvalid(schema.GroupKind{Kind: "Binding"}, binding.Name, errs)
	}
	if err := checkBindable(pod, binding); err != nil {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, pod.Name, err)
	}
	pod.Spec.NodeName = binding.Target.Name
	if len(binding.Annotations) > 0 && pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	for key, value := range binding.Annotations {
		pod.Annotations[key] = value
	}
	copyTopologyLabels(pod, binding)
	podspec.MarkScheduled(pod)
	return nil
}

// checkBindable returns the reason why a pod cannot be assigned to the node, or nil.
func checkBindable(pod *corev1.Pod, binding *corev1.Binding) error {
	switch {
	case binding.UID != "" && binding.UID != pod.UID:
		return fmt.Errorf("the binding names the pod with UID %s, but the pod has UID %s", binding.UID, pod.UID)
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
	}
	return nil
}

// copyTopologyLabels copies the zone and region of the node from the binding to the pod.
func copyTopologyLabels(pod *corev1.Pod, binding *corev1.Binding) {
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
		value, ok := binding.Labels[key]
		if !ok {
			continue
		}
		if pod.Labels == nil {
			pod.Labels = map[string]string{}
		}
		pod.Labels[key] = value
	}
}

func validateBinding(binding *corev1.Binding) (errs field.ErrorList) {
	target := field.NewPath("target")
	if k := binding.Target.Kind; k != "" && k != "Node" {
		errs = append(errs, field.NotSupported(target.Child("kind"), k, []string{"Node", "<empty>"}))
	}
	if binding.Target.Name == "" {
		errs = append(errs, field.Required(target.Child("name"), ""))
	}
	return errs
}
