package admission

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var nodes = schema.GroupResource{Resource: "nodes"}

// TaintNodes keeps pods away from a new node until something says that the node is ready (Kubernetes'
// TaintNodesByCondition).
type TaintNodes struct{}

// Name implements Plugin.
func (TaintNodes) Name() string { return "TaintNodesByCondition" }

// Handles implements Plugin.
func (TaintNodes) Handles(op Operation, resource schema.GroupResource, sub string) bool {
	return resource == nodes && sub == "" && op == Create
}

// Admit implements Plugin.
func (TaintNodes) Admit(_ context.Context, a *Attributes, _ Reader) error {
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

// Validate implements Plugin.
func (TaintNodes) Validate(context.Context, *Attributes, Reader) error { return nil }
