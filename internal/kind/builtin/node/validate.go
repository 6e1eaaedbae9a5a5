package node

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// maxErrors is the number of errors after which the elements of a list or map are no longer validated. It bounds the
// cost of objects with very many invalid elements.
const maxErrors = 1000

func validateRuntimeClass(c, old *nodev1.RuntimeClass, _ string) field.ErrorList {
	errs, late := validateHandler(c, old)
	if c.Overhead != nil {
		errs = append(errs, validateOverhead(c.Overhead.PodFixed, field.NewPath("overhead"))...)
	}
	if s := c.Scheduling; s != nil {
		path := field.NewPath("scheduling")
		errs = append(errs, validateLabels(s.NodeSelector, path.Child("nodeSelector"))...)
		errs = append(errs, validateTolerations(s.Tolerations, path.Child("tolerations"))...)
	}
	return append(errs, late...)
}

// validateHandler validates the name of the handler. Kubernetes checks it twice. Errors of the declarative rules
// replace equal ones of the hand-written rules and come last. On an update, the declarative rules ignore an unchanged
// handler; of a changed one, they report the change, and other errors only if the new handler is empty.
func validateHandler(c, old *nodev1.RuntimeClass) (errs, late field.ErrorList) {
	path := field.NewPath("handler")
	errs = fieldcheck.Name(path, c.Handler)
	if old == nil && c.Handler != "" {
		return nil, fieldcheck.Invalid(path, c.Handler, content.IsDNS1123Label(c.Handler))
	}
	if old == nil {
		return nil, errs
	}
	if c.Handler == old.Handler {
		return errs, nil
	}
	// The declarative rule shows null instead of the value.
	late = field.ErrorList{field.Invalid(path, nil, apivalidation.FieldImmutableErrorMsg)}
	if c.Handler == "" {
		return nil, append(late, errs...)
	}
	return errs, late
}

// validateOverhead validates the resources that a pod uses in addition to those of its containers. The paths of errors
// are those of Kubernetes, which treats the resources as the limits of a container.
func validateOverhead(list corev1.ResourceList, path *field.Path) (errs field.ErrorList) {
	pages, compute := false, false
	for _, name := range fieldcheck.SortedKeys(list) {
		pages = pages || podspec.IsHugePages(name)
		compute = compute || name == corev1.ResourceCPU || name == corev1.ResourceMemory
		if len(errs) < maxErrors {
			at := path.Child("limits").Key(string(name))
			errs = append(errs, podspec.ValidateContainerResource(name, at)...)
			errs = append(errs, podspec.ValidateQuantity(name, list[name], at)...)
		}
	}
	if pages && !compute {
		errs = append(errs, field.Forbidden(path, "HugePages require cpu or memory"))
	}
	return errs
}

func validateLabels(labels map[string]string, path *field.Path) (errs field.ErrorList) {
	for _, key := range fieldcheck.SortedKeys(labels) {
		if len(errs) >= maxErrors {
			break
		}
		errs = append(errs, metavalidation.ValidateLabelName(key, path)...)
		errs = append(errs, fieldcheck.Invalid(path, labels[key], validation.IsValidLabelValue(labels[key]))...)
	}
	return errs
}
