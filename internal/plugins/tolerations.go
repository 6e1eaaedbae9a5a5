package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

var pods = schema.GroupResource{Resource: "pods"}

// tolerationSeconds is how long a pod without its own toleration stays on a node that is not ready or
// unreachable.
const tolerationSeconds = int64(300)

// DefaultTolerations adds tolerations of five minutes for nodes that are not ready or unreachable to pods
// that do not set their own (Kubernetes' DefaultTolerationSeconds).
type DefaultTolerations struct{}

// Name implements admission.Plugin.
func (DefaultTolerations) Name() string { return "DefaultTolerationSeconds" }

// Handles implements admission.Plugin.
func (DefaultTolerations) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == pods && sub == "" && (op == admission.Create || op == admission.Update)
}

// Admit implements admission.Plugin.
func (DefaultTolerations) Admit(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if tolerates(pod, taint) {
			continue
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: new(tolerationSeconds),
		})
	}
	return nil
}

// tolerates reports whether the pod has a NoExecute toleration that applies to the taint.
func tolerates(pod *corev1.Pod, taint string) bool {
	for _, t := range pod.Spec.Tolerations {
		if (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}

// Validate implements admission.Plugin.
func (DefaultTolerations) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}
