package core

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// standardFinalizers are the finalizers that need no domain before their name.
var standardFinalizers = []string{
	string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents,
}

// validateFinalizers is what the core kinds ask of metadata.finalizers beyond what the server asks of all kinds: a name
// without a domain is one of Kubernetes' own.
func validateFinalizers(obj metav1.Object) (errs field.ErrorList) {
	for i, f := range obj.GetFinalizers() {
		errs = append(errs, validateFinalizerDomain(field.NewPath("metadata", "finalizers").Index(i), f)...)
	}
	return errs
}

func validateFinalizerDomain(path *field.Path, name string) field.ErrorList {
	if strings.Contains(name, "/") || slices.Contains(standardFinalizers, name) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")}
}
