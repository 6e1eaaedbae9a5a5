// Package fieldcheck has checks of single field values, from which the validation rules of the built-in kinds are
// composed. A check returns the errors of the value, with Kubernetes' wording, or nil if it is valid.
package fieldcheck

import (
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Invalid converts each message about a value to an error.
func Invalid(path *field.Path, value any, messages []string) (errs field.ErrorList) {
	for _, m := range messages {
		errs = append(errs, field.Invalid(path, value, m))
	}
	return errs
}

// LabelName requires an RFC 1123 label.
func LabelName(path *field.Path, value string) field.ErrorList {
	return Invalid(path, value, validation.IsDNS1123Label(value))
}

// Name is LabelName for a required name.
func Name(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return LabelName(path, value)
}

// Subdomain requires an RFC 1123 subdomain.
func Subdomain(path *field.Path, value string) field.ErrorList {
	return Invalid(path, value, validation.IsDNS1123Subdomain(value))
}

// ObjectName validates the name of another object; a prefix may end in a dash.
func ObjectName(path *field.Path, value string, prefix bool) field.ErrorList {
	return Invalid(path, value, apivalidation.NameIsDNSSubdomain(value, prefix))
}

// QualifiedName requires a name with an optional domain, as for labels.
func QualifiedName(path *field.Path, value string) field.ErrorList {
	return Invalid(path, value, validation.IsQualifiedName(value))
}

// Required rejects the empty string.
func Required(path *field.Path, value, detail string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, detail)}
	}
	return nil
}

// NonNegative rejects negative numbers.
func NonNegative(path *field.Path, value int64) field.ErrorList {
	if value < 0 {
		return field.ErrorList{field.Invalid(path, value, apivalidation.IsNegativeErrorMsg)}
	}
	return nil
}

// OneOf validates a value against the supported ones, in the order in which the error lists them.
func OneOf[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, supported)}
}

// Choice is OneOf for a required value.
func Choice[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return OneOf(path, value, supported...)
}

// NoSpaces rejects a value with leading or trailing white space.
func NoSpaces(path *field.Path, value string) field.ErrorList {
	if strings.TrimSpace(value) != value {
		return field.ErrorList{field.Invalid(path, value, "must not have leading or trailing whitespace")}
	}
	return nil
}

// Port validates a port number, or the name of a container port.
func Port(path *field.Path, port intstr.IntOrString) field.ErrorList {
	if port.Type == intstr.Int {
		return Invalid(path, port.IntVal, validation.IsValidPortNum(port.IntValue()))
	}
	return Invalid(path, port.StrVal, validation.IsValidPortName(port.StrVal))
}

// FileMode validates the permissions of a file; nil means the kubelet's default.
func FileMode(path *field.Path, mode *int32) field.ErrorList {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		return field.ErrorList{field.Invalid(path, *mode,
			"must be a number between 0 and 0777 (octal), both inclusive")}
	}
	return nil
}

// NoBacksteps rejects a path with an element "..".
func NoBacksteps(path *field.Path, value string) field.ErrorList {
	if !strings.Contains(value, "..") {
		return nil
	}
	for element := range strings.SplitSeq(value, "/") {
		if element == ".." {
			return field.ErrorList{field.Invalid(path, value, "must not contain '..'")}
		}
	}
	return nil
}

// RelativePath validates a relative path without elements "..".
func RelativePath(path *field.Path, value string) (errs field.ErrorList) {
	if strings.HasPrefix(value, "/") {
		errs = append(errs, field.Invalid(path, value, "must be a relative path"))
	}
	return append(errs, NoBacksteps(path, value)...)
}

// FilePath validates the path of a file that the kubelet writes. Names that start with ".." are reserved
// for the kubelet.
func FilePath(path *field.Path, value string) field.ErrorList {
	errs := RelativePath(path, value)
	if strings.HasPrefix(value, "..") && !strings.HasPrefix(value, "../") {
		errs = append(errs, field.Invalid(path, value, "must not start with '..'"))
	}
	return errs
}

// SortedKeys returns the keys of a map in sorted order, for a stable order of errors.
func SortedKeys[K ~string, V any](m map[K]V) []K {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}
