package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

// LimitAntiAffinity rejects pods with a required anti-affinity to the pods of more than one node (Kubernetes'
// LimitPodHardAntiAffinityTopology). It is off by default.
type LimitAntiAffinity struct{}

// Name implements admission.Plugin.
func (LimitAntiAffinity) Name() string { return "LimitPodHardAntiAffinityTopology" }

// Handles implements admission.Plugin.
func (LimitAntiAffinity) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == pods && sub == "" && (op == admission.Create || op == admission.Update)
}

// Admit implements admission.Plugin.
func (LimitAntiAffinity) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// Validate implements admission.Plugin.
func (LimitAntiAffinity) Validate(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if term.TopologyKey != corev1.LabelHostname {
			return a.Forbidden("affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey %v but only key %v "+
				"is allowed", term.TopologyKey, corev1.LabelHostname)
		}
	}
	return nil
}
