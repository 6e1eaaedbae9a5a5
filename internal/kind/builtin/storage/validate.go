package storage

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// maxErrors is the number of errors after which the rest of a list is not validated. A response lists fewer.
const maxErrors = 1000

// validateProvisioner validates the format of a driver's name in a class. It does not report a missing name.
func validateProvisioner(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	return fieldcheck.QualifiedName(path, strings.ToLower(name))
}

const (
	maxParameters    = 512
	maxParameterSize = 256 << 10
)

// validateParameters validates the number and the size of a class's parameters; the driver validates their content.
func validateParameters(parameters map[string]string, path *field.Path) (errs field.ErrorList) {
	if len(parameters) > maxParameters {
		return field.ErrorList{field.TooLong(path, "", maxParameters)}
	}
	if _, ok := parameters[""]; ok {
		errs = append(errs, field.Invalid(path, "", "field can not be empty."))
	}
	if size(parameters) > maxParameterSize {
		errs = append(errs, field.TooLong(path, "", maxParameterSize))
	}
	return errs
}

// size returns the number of bytes in a map.
func size(m map[string]string) (bytes int) {
	for key, value := range m {
		bytes += len(key) + len(value)
	}
	return bytes
}

// immutable reports a change of a field that Kubernetes declares immutable. Its errors omit the value.
func immutable(path *field.Path) *field.Error { return field.Invalid(path, nil, "field is immutable") }

// preserveMetadata restores the metadata in a write of the status, except for the managed fields.
func preserveMetadata(obj, old metav1.Object) {
	obj.SetLabels(maps.Clone(old.GetLabels()))
	obj.SetAnnotations(maps.Clone(old.GetAnnotations()))
	obj.SetFinalizers(slices.Clone(old.GetFinalizers()))
}
