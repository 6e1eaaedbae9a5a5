package fieldcheck

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

// Finalizers adds a rule of some kinds to the server's validation of metadata.finalizers: a name without a domain must
// be a standard one.
func Finalizers(obj metav1.Object) (errs field.ErrorList) {
	for i, f := range obj.GetFinalizers() {
		errs = append(errs, FinalizerDomain(field.NewPath("metadata", "finalizers").Index(i), f)...)
	}
	return errs
}

// FinalizerDomain requires a standard finalizer, or a name with a domain.
func FinalizerDomain(path *field.Path, name string) field.ErrorList {
	if strings.Contains(name, "/") || slices.Contains(standardFinalizers, name) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name,
		"name is neither a standard finalizer name nor is it fully qualified")}
}
