package up

import (
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/serve"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
)

// partNeeds returns the resources that the parts of bowline up outside the plane need. bowline.Start checks those of
// the plane's controllers.
func partNeeds(controllers serve.Selection, nodes bool) map[string][]schema.GroupVersionResource {
	needs := map[string][]schema.GroupVersionResource{}
	if controllers.Ingress {
		needs[serve.IngressController] = []schema.GroupVersionResource{
			networkingv1.SchemeGroupVersion.WithResource("ingresses"),
			networkingv1.SchemeGroupVersion.WithResource("ingressclasses"),
			corev1.SchemeGroupVersion.WithResource("services"),
			corev1.SchemeGroupVersion.WithResource("secrets"),
			discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
		}
	}
	if nodes {
		needs["--nodes"] = []schema.GroupVersionResource{
			corev1.SchemeGroupVersion.WithResource("nodes"),
			corev1.SchemeGroupVersion.WithResource("pods"),
			coordinationv1.SchemeGroupVersion.WithResource("leases"),
		}
	}
	return needs
}

// apiValues returns the values of --api that turn one group version off, or one with resources on that are off by
// default.
func apiValues() []string {
	values := builtin.GroupVersions()
	for i := range values {
		values[i] += "=false"
	}
	for _, resource := range builtin.OptionalResources() {
		version := resource[:strings.LastIndexByte(resource, '/')]
		values = append(values, version+"=true")
	}
	return slices.Compact(values)
}
