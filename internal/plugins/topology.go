package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

// topologyLabels are the labels that pods get from their node (KEP-4742).
var topologyLabels = []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion}

// PodTopologyLabels copies the zone and the region of a node to the pods that are created on it or bound to it.
type PodTopologyLabels struct{}

// Name implements admission.Plugin.
func (PodTopologyLabels) Name() string { return "PodTopologyLabels" }

// Handles implements admission.Plugin.
func (PodTopologyLabels) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return op == admission.Create && resource == pods && (sub == "" || sub == "binding")
}

// Admit implements admission.Plugin. The labels of a binding become those of its pod.
func (PodTopologyLabels) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	var node string
	switch obj := a.Object.(type) {
	case *corev1.Binding:
		if obj.Target.Kind == "Node" {
			node = obj.Target.Name
		}
	case *corev1.Pod:
		node = obj.Spec.NodeName
	}
	if node == "" {
		return nil
	}
	obj, err := state.Get(ctx, nodes, "", node)
	if err != nil || obj == nil {
		return err
	}
	for _, name := range topologyLabels {
		if value, has := obj.GetLabels()[name]; has {
			setLabel(a.Object, name, value)
		}
	}
	return nil
}

func setLabel(obj kind.Object, name, value string) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[name] = value
	obj.SetLabels(labels)
}

// Validate implements admission.Plugin.
func (PodTopologyLabels) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}
