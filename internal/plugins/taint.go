package plugins

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

var nodes = schema.GroupResource{Resource: "nodes"}

// TaintNodes taints new nodes as not ready, so that no pod is scheduled to them until the node controller
// removes the taint (Kubernetes' TaintNodesByCondition).
type TaintNodes struct{}

// Name implements admission.Plugin.
func (TaintNodes) Name() string { return "TaintNodesByCondition" }

// Handles implements admission.Plugin.
func (TaintNodes) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == nodes && sub == "" && op == admission.Create
}

// Admit implements admission.Plugin.
func (TaintNodes) Admit(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	node, ok := a.Object.(*corev1.Node)
	if !ok {
		return nil
	}
	taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	return nil
}

// Validate implements admission.Plugin.
func (TaintNodes) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}
