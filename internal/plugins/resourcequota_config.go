package plugins

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/quota"
)

// quotaConfig is the configuration of ResourceQuota, in Kubernetes' format.
type quotaConfig struct {
	metav1.TypeMeta  `json:""`
	LimitedResources []limitedResource `json:"limitedResources"`
}

// limitedResource lists amounts and scopes of a resource that only a quota permits.
type limitedResource struct {
	APIGroup string `json:"apiGroup,omitempty"`
	Resource string `json:"resource"`
	// MatchContains are parts of the names of the amounts, such as .storageclass.storage.k8s.io/requests.storage.
	MatchContains []string `json:"matchContains,omitempty"`
	// MatchScopes apply to all objects that are in a scope, whatever the resource.
	MatchScopes []corev1.ScopedResourceSelectorRequirement `json:"matchScopes,omitempty"`
}

// newResourceQuota returns the plugin for a configuration, or an error for each wrong field.
func newResourceQuota(c quotaConfig) (ResourceQuota, error) {
	const old = "resourcequota.admission.k8s.io/"
	want, versions := "Configuration", []string{"apiserver.config.k8s.io/v1", old + "v1beta1", old + "v1alpha1"}
	if c.APIVersion == versions[0] {
		want = "ResourceQuotaConfiguration"
	}
	if err := checkType(c.TypeMeta, want, versions...); err != nil {
		return ResourceQuota{}, err
	}
	var errs field.ErrorList
	limited := &quota.Limited{Names: map[schema.GroupResource][]string{}}
	for i, l := range c.LimitedResources {
		if l.Resource == "" {
			errs = append(errs, field.Required(field.NewPath("limitedResources").Index(i).Child("resource"), ""))
		}
		resource := schema.GroupResource{Group: l.APIGroup, Resource: l.Resource}
		limited.Names[resource] = slices.Concat(limited.Names[resource], l.MatchContains)
		limited.Scopes = append(limited.Scopes, l.MatchScopes...)
	}
	if len(c.LimitedResources) == 0 {
		limited = nil
	}
	return ResourceQuota{limited}, errs.ToAggregate()
}
