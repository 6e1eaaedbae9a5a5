package plugins

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

// TolerateExtendedResources adds a toleration to each pod that requests an extended resource, such as a GPU. Nodes can
// have a taint with the name of the resource to keep other pods away (Kubernetes' ExtendedResourceToleration). It is
// off by default.
type TolerateExtendedResources struct{}

// Name implements admission.Plugin.
func (TolerateExtendedResources) Name() string { return "ExtendedResourceToleration" }

// Handles implements admission.Plugin.
func (TolerateExtendedResources) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == pods && sub == "" && (op == admission.Create || op == admission.Update)
}

// Admit implements admission.Plugin.
func (TolerateExtendedResources) Admit(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	var names []string
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			for name := range list[i].Resources.Requests {
				if isExtended(string(name)) {
					names = append(names, string(name))
				}
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		t := corev1.Toleration{Key: name, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
		same := func(has corev1.Toleration) bool { return has.MatchToleration(&t) }
		if !slices.ContainsFunc(pod.Spec.Tolerations, same) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, t)
		}
	}
	return nil
}

// isExtended reports whether a resource is not one of Kubernetes' own: its name has a domain other than kubernetes.io,
// and does not have the prefix of a quota for requests.
func isExtended(name string) bool {
	return strings.Contains(name, "/") && !strings.Contains(name, corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(name, corev1.DefaultResourceRequestsPrefix)
}

// Validate implements admission.Plugin.
func (TolerateExtendedResources) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}
