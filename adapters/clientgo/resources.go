package clientgo

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// resourceOf returns the resource of a built-in type. Its plural follows from the kind.
func resourceOf(obj runtime.Object) (schema.GroupVersionResource, bool) {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return schema.GroupVersionResource{}, false
	}
	plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return plural, true
}

// exampleOf returns an empty object of a built-in resource.
func exampleOf(resource schema.GroupVersionResource) (runtime.Object, bool) {
	for kind := range scheme.Scheme.KnownTypes(resource.GroupVersion()) {
		plural, _ := meta.UnsafeGuessKindToResource(resource.GroupVersion().WithKind(kind))
		if plural != resource {
			continue
		}
		obj, err := scheme.Scheme.New(resource.GroupVersion().WithKind(kind))
		return obj, err == nil
	}
	return nil, false
}

// clusterScoped lists the built-in resources without a namespace, to which a factory's namespace does not apply.
var clusterScoped = func() map[schema.GroupResource]bool {
	byGroup := map[string][]string{
		"": {"nodes", "namespaces", "persistentvolumes", "componentstatuses"},
		"admissionregistration.k8s.io": {
			"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
			"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
		},
		"certificates.k8s.io":          {"certificatesigningrequests", "clustertrustbundles"},
		"flowcontrol.apiserver.k8s.io": {"flowschemas", "prioritylevelconfigurations"},
		"internal.apiserver.k8s.io":    {"storageversions"},
		"networking.k8s.io":            {"ingressclasses", "ipaddresses", "servicecidrs"},
		"node.k8s.io":                  {"runtimeclasses"},
		"rbac.authorization.k8s.io":    {"clusterroles", "clusterrolebindings"},
		"resource.k8s.io": {"deviceclasses", "devicetaintrules", "resourcepoolstatusrequests",
			"resourceslices"},
		"scheduling.k8s.io": {"priorityclasses"},
		"storage.k8s.io": {"csidrivers", "csinodes", "storageclasses", "volumeattachments",
			"volumeattributesclasses"},
		"storagemigration.k8s.io": {"storageversionmigrations"},
	}
	resources := map[schema.GroupResource]bool{}
	for group, plurals := range byGroup {
		for _, plural := range plurals {
			resources[schema.GroupResource{Group: group, Resource: plural}] = true
		}
	}
	return resources
}()
