package core

import (
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The checks of single values that the rules of this group are made of. Each returns nil when nothing is wrong.

// InvalidFor makes an error of each message about a value.
func InvalidFor(path *field.Path, value any, messages []string) (errs field.ErrorList) {
	for _, m := range messages {
		errs = append(errs, field.Invalid(path, value, m))
	}
	return errs
}

func checkLabelName(path *field.Path, value string) field.ErrorList {
	return InvalidFor(path, value, validation.IsDNS1123Label(value))
}

// checkName is checkLabelName for a name that must be there.
func checkName(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return checkLabelName(path, value)
}

func checkSubdomain(path *field.Path, value string) field.ErrorList {
	return InvalidFor(path, value, validation.IsDNS1123Subdomain(value))
}

// checkObjectName checks the name of another object; a prefix may end in a dash.
func checkObjectName(path *field.Path, value string, prefix bool) field.ErrorList {
	return InvalidFor(path, value, apivalidation.NameIsDNSSubdomain(value, prefix))
}

func checkQualifiedName(path *field.Path, value string) field.ErrorList {
	return InvalidFor(path, value, validation.IsQualifiedName(value))
}

func checkRequired(path *field.Path, value, detail string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, detail)}
	}
	return nil
}

func checkNonNegative(path *field.Path, value int64) field.ErrorList {
	if value < 0 {
		return field.ErrorList{field.Invalid(path, value, apivalidation.IsNegativeErrorMsg)}
	}
	return nil
}

// checkOneOf checks a value against all that are supported, in the order in which the error shows them.
func checkOneOf[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, supported)}
}

// checkChoice is checkOneOf for a value that must be there.
func checkChoice[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return checkOneOf(path, value, supported...)
}

// checkNoSpaces checks that a value has no white space around it.
func checkNoSpaces(path *field.Path, value string) field.ErrorList {
	if strings.TrimSpace(value) != value {
		return field.ErrorList{field.Invalid(path, value, "must not have leading or trailing whitespace")}
	}
	return nil
}

// checkPort checks a port that is a number, or the name of one of a container's ports.
func checkPort(path *field.Path, port intstr.IntOrString) field.ErrorList {
	if port.Type == intstr.Int {
		return InvalidFor(path, port.IntVal, validation.IsValidPortNum(port.IntValue()))
	}
	return InvalidFor(path, port.StrVal, validation.IsValidPortName(port.StrVal))
}

// checkFileMode checks the permissions of a file; nil leaves them to the kubelet.
func checkFileMode(path *field.Path, mode *int32) field.ErrorList {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		return field.ErrorList{field.Invalid(path, *mode, "must be a number between 0 and 0777 (octal), both inclusive")}
	}
	return nil
}

// checkNoBacksteps checks that no element of a path is "..".
func checkNoBacksteps(path *field.Path, value string) field.ErrorList {
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

// checkRelativePath checks a path that must stay below where it starts.
func checkRelativePath(path *field.Path, value string) (errs field.ErrorList) {
	if strings.HasPrefix(value, "/") {
		errs = append(errs, field.Invalid(path, value, "must be a relative path"))
	}
	return append(errs, checkNoBacksteps(path, value)...)
}

// checkFilePath checks the path of a file that the kubelet writes: names that begin with ".." are its own.
func checkFilePath(path *field.Path, value string) field.ErrorList {
	errs := checkRelativePath(path, value)
	if strings.HasPrefix(value, "..") && !strings.HasPrefix(value, "../") {
		errs = append(errs, field.Invalid(path, value, "must not start with '..'"))
	}
	return errs
}

// sortedKeys makes the errors of a map come in one order.
func sortedKeys[K ~string, V any](m map[K]V) []K {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}
