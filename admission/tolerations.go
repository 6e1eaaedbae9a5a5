package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var pods = schema.GroupResource{Resource: "pods"}

// tolerationSeconds is how long a pod stays on a node that is not ready or not reachable, unless it says otherwise.
const tolerationSeconds = int64(300)

// DefaultTolerations lets a pod stay for five minutes on a node that is not ready or cannot be reached, where the pod
// does not say how long (Kubernetes' DefaultTolerationSeconds).
type DefaultTolerations struct{}

// Name implements Plugin.
func (DefaultTolerations) Name() string { return "DefaultTolerationSeconds" }

// Handles implements Plugin.
func (DefaultTolerations) Handles(op Operation, resource schema.GroupResource, sub string) bool {
	return resource == pods && sub == "" && (op == Create || op == Update)
}

// Admit implements Plugin.
func (DefaultTolerations) Admit(_ context.Context, a *Attributes, _ Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if tolerates(pod, taint) {
			continue
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(tolerationSeconds),
		})
	}
	return nil
}

// tolerates says that the pod has a word about a taint that evicts.
func tolerates(pod *corev1.Pod, taint string) bool {
	for _, t := range pod.Spec.Tolerations {
		if (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}

// Validate implements Plugin.
func (DefaultTolerations) Validate(context.Context, *Attributes, Reader) error { return nil }
