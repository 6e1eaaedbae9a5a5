package plugins

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/types"

	"github.com/bowline-dev/bowline/admission"
)

// CheckNodeFeatures rejects updates of pods that need a feature that their node does not declare in
// status.declaredFeatures (Kubernetes' NodeDeclaredFeatureValidator).
type CheckNodeFeatures struct{}

// featureVersion is the version of Kubernetes whose features nodes declare.
var featureVersion = version.MustParse("1.37.2")

// Name implements admission.Plugin.
func (CheckNodeFeatures) Name() string { return "NodeDeclaredFeatureValidator" }

// Handles implements admission.Plugin.
func (CheckNodeFeatures) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == pods && op == admission.Update && (sub == "" || sub == "resize")
}

// Admit implements admission.Plugin.
func (CheckNodeFeatures) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// Validate implements admission.Plugin. It ignores pods without a node, and updates that leave the spec as it is.
func (CheckNodeFeatures) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	pod, old, changed := boundPodChange(a)
	if !changed {
		return nil
	}
	features := nodedeclaredfeatures.DefaultFramework
	needed, err := features.InferForPodUpdate(&types.PodInfo{Spec: &old.Spec, Status: &old.Status},
		&types.PodInfo{Spec: &pod.Spec, Status: &pod.Status}, featureVersion)
	if err != nil {
		return a.Forbidden("failed to infer pod capability requirements: %w", err)
	}
	if needed.IsEmpty() {
		return nil
	}
	node, err := nodeOf(ctx, a, state, pod.Spec.NodeName)
	if err != nil {
		return err
	}
	result, err := features.MatchNode(needed, node)
	if err != nil {
		return a.Forbidden("failed to match pod requirements against node %q: %w", node.Name, err)
	}
	if !result.IsMatch {
		return a.Forbidden("pod update requires features %s which are not available on node %q",
			strings.Join(result.UnsatisfiedRequirements, ", "), node.Name)
	}
	return nil
}
