package core

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// standardFinalizers are the finalizers that need no domain.
var standardFinalizers = []string{
	string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents,
}

// validateFinalizers adds a rule of the core kinds to the server's validation of metadata.finalizers: a name
// without a domain must be a standard one.
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
	return field.ErrorList{field.Invalid(path, name,
		"name is neither a standard finalizer name nor is it fully qualified")}
}
