package core

import (
	"fmt"
	"maps"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// podBinding assigns a pod to a node. It is the only way to set spec.nodeName after the create.
var podBinding = kind.Subresource{
	Name:  "binding",
	Kind:  schema.GroupVersionKind{Version: "v1", Kind: "Binding"},
	Verbs: []string{"create"},
	New:   func() runtime.Object { return &corev1.Binding{} },
	Check: func(name string, body runtime.Object) error { return checkBinding(name, body.(*corev1.Binding)) },
	Apply: func(obj kind.Object, body runtime.Object) error {
		return bindPod(obj.(*corev1.Pod), body.(*corev1.Binding))
	},
}

// checkBinding rejects a binding that is invalid, or of another pod than the URL.
func checkBinding(name string, binding *corev1.Binding) error {
	if binding.Name != name {
		return apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if errs := validateBinding(binding); len(errs) > 0 {
		return invalidBinding(errs)
	}
	return nil
}

// bindPod applies a valid binding to a pod: it sets the node, and adds the annotations and labels of the binding. It
// returns a conflict for a pod that has a node, is being deleted or has scheduling gates.
func bindPod(pod *corev1.Pod, binding *corev1.Binding) error {
	if err := checkNamedState(pod, binding); err != nil {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, pod.Name, err)
	}
	if err := checkBindable(pod); err != nil {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, pod.Name, err)
	}
	pod.Spec.NodeName = binding.Target.Name
	pod.Annotations = merged(pod.Annotations, binding.Annotations)
	podspec.DropInitContainerAnnotations(pod.Annotations)
	pod.Labels = merged(pod.Labels, binding.Labels)
	podspec.MarkScheduled(pod)
	return nil
}

// invalidBinding returns the response to an invalid binding. As in Kubernetes, it has no reason and no causes.
func invalidBinding(errs field.ErrorList) error {
	listed, _ := kind.LimitErrors(errs)
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: listed.ToAggregate().Error(),
	}}
}

// checkNamedState returns an error if a binding has a UID or resourceVersion that differs from that of the pod. Like
// Kubernetes' error, it shows the pod's key in etcd.
func checkNamedState(pod *corev1.Pod, binding *corev1.Binding) error {
	for _, f := range []struct{ what, named, current string }{
		{"UID", string(binding.UID), string(pod.UID)},
		{"ResourceVersion", binding.ResourceVersion, pod.ResourceVersion},
	} {
		if f.named != "" && f.named != f.current {
			return fmt.Errorf("StorageError: invalid object, Code: 4, Key: /registry/pods/%s/%s, ResourceVersion: 0, "+
				"AdditionalErrorMsg: Precondition failed: %s in precondition: %s, %s in object meta: %s",
				pod.Namespace, pod.Name, f.what, f.named, f.what, f.current)
		}
	}
	return nil
}

// checkBindable returns the reason why a pod cannot be assigned to a node, or nil.
func checkBindable(pod *corev1.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
	}
	return nil
}

// merged adds labels or annotations to those of an object, and returns the result. has may be nil, and may be modified.
func merged(has, added map[string]string) map[string]string {
	if has == nil && len(added) > 0 {
		has = make(map[string]string, len(added))
	}
	maps.Copy(has, added)
	return has
}

func validateBinding(binding *corev1.Binding) (errs field.ErrorList) {
	target, node := field.NewPath("target"), &binding.Target
	toNode := node.Kind == "" || node.Kind == "Node"
	if !toNode {
		errs = append(errs, field.NotSupported(target.Child("kind"), node.Kind, []string{"Node", "<empty>"}))
	}
	switch {
	case node.Name == "":
		errs = append(errs, field.Required(target.Child("name"), ""))
	case toNode:
		errs = append(errs, fieldcheck.ObjectName(target.Child("name"), node.Name, false)...)
	}
	return errs
}
