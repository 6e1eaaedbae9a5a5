package plugins

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/bowline-dev/bowline/admission"
)

// ResizePods rejects resizes of pods that their nodes do not support or have no room for (Kubernetes'
// PodResizeValidator).
type ResizePods struct{}

// Name implements admission.Plugin.
func (ResizePods) Name() string { return "PodResizeValidator" }

// Handles implements admission.Plugin.
func (ResizePods) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == pods && sub == "resize" && op == admission.Update
}

// Admit implements admission.Plugin.
func (ResizePods) Admit(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// Validate implements admission.Plugin. It ignores pods without a node, and updates that leave the spec as it is.
func (ResizePods) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	pod, _, changed := boundPodChange(a)
	if !changed {
		return nil
	}
	node, err := nodeOf(ctx, a, state, pod.Spec.NodeName)
	if err != nil {
		return err
	}
	if system, labelled := node.Labels[corev1.LabelOSStable]; labelled && system != "linux" {
		return withCause(a.Forbidden("pod resize is only supported on linux nodes, node %q is %q", node.Name, system),
			"UnsupportedPlatform")
	}
	if err := checkAllocatable(pod, node.Status.Allocatable); err != nil {
		return withCause(a.Forbidden("%w", err), "NodeCapacity")
	}
	return nil
}

// boundPodChange returns the pod of an update before and after it, and whether the pod has a node and its spec changes.
func boundPodChange(a *admission.Attributes) (pod, old *corev1.Pod, changed bool) {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil, nil, false
	}
	old, ok = a.Old.(*corev1.Pod)
	return pod, old, ok && old != nil && old.Generation != pod.Generation
}

// nodeOf returns a pod's node, or a 403 if it does not exist.
func nodeOf(ctx context.Context, a *admission.Attributes, state admission.Reader, name string) (*corev1.Node, error) {
	obj, err := state.Get(ctx, nodes, "", name)
	if err != nil {
		return nil, a.Forbidden("failed to get node %q: %w", name, err)
	}
	node, ok := obj.(*corev1.Node)
	if !ok || node == nil {
		return nil, a.Forbidden("node %q not found", name)
	}
	return node, nil
}

// checkAllocatable returns an error if a pod requests more than a node has.
func checkAllocatable(pod *corev1.Pod, allocatable corev1.ResourceList) error {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	var lacking []string
	if cpu, has := requests.Cpu(), allocatable.Cpu(); cpu.Cmp(*has) > 0 {
		lacking = append(lacking, fmt.Sprintf("cpu, requested: %d, allocatable: %d", cpu.MilliValue(), has.MilliValue()))
	}
	if memory, has := requests.Memory(), allocatable.Memory(); memory.Cmp(*has) > 0 {
		lacking = append(lacking, fmt.Sprintf("memory, requested: %d, allocatable: %d", memory.Value(), has.Value()))
	}
	if len(lacking) == 0 {
		return nil
	}
	return errors.New("node didn't have enough allocatable resources: " + strings.Join(lacking, "; "))
}

// withCause adds a cause that programs can recognize to an error.
func withCause(err *apierrors.StatusError, cause metav1.CauseType) error {
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	return err
}
