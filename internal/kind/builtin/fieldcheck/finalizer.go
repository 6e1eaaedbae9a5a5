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

// maxFinalizerErrors is the number of errors after which finalizers are no longer checked. A response lists fewer.
const maxFinalizerErrors = 1000

// Finalizers adds a rule of most kinds to the server's validation of metadata.finalizers: a name without a domain must
// be a standard one.
func Finalizers(obj metav1.Object) (errs field.ErrorList) {
	for i, f := range obj.GetFinalizers() {
		if len(errs) >= maxFinalizerErrors {
			break
		}
		errs = append(errs, FinalizerDomain(field.NewPath("metadata", "finalizers").Index(i), f)...)
	}
	return errs
}

// WithFinalizers adds Finalizers to the rules of a kind.
func WithFinalizers[T metav1.Object](rules ruleFunc[T]) ruleFunc[T] {
	return func(obj, old T, subresource string) field.ErrorList {
		return append(Finalizers(obj), rules(obj, old, subresource)...)
	}
}

// ruleFunc returns the errors of an object in a write of the object or of a subresource. old is the stored object, and
// nil in a create.
type ruleFunc[T metav1.Object] = func(obj, old T, subresource string) field.ErrorList

// FinalizerDomain requires a standard finalizer, or a name with a domain.
func FinalizerDomain(path *field.Path, name string) field.ErrorList {
	if strings.Contains(name, "/") || slices.Contains(standardFinalizers, name) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name,
		"name is neither a standard finalizer name nor is it fully qualified")}
}
