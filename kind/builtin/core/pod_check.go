package core

import (
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The checks of single values that the pod rules are made of. Each returns nil when nothing is wrong.

// invalidFor makes an error of each message about a value.
func invalidFor(path *field.Path, value any, messages []string) (errs field.ErrorList) {
	for _, m := range messages {
		errs = append(errs, field.Invalid(path, value, m))
	}
	return errs
}

func podLabelName(path *field.Path, value string) field.ErrorList {
	return invalidFor(path, value, validation.IsDNS1123Label(value))
}

func podSubdomain(path *field.Path, value string) field.ErrorList {
	return invalidFor(path, value, validation.IsDNS1123Subdomain(value))
}

// podObjectName checks the name of another object; a prefix may end in a dash.
func podObjectName(path *field.Path, value string, prefix bool) field.ErrorList {
	return invalidFor(path, value, apivalidation.NameIsDNSSubdomain(value, prefix))
}

func podQualifiedName(path *field.Path, value string) field.ErrorList {
	return invalidFor(path, value, validation.IsQualifiedName(value))
}

func podRequired(path *field.Path, value, detail string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, detail)}
	}
	return nil
}

func podNonNegative(path *field.Path, value int64) field.ErrorList {
	if value < 0 {
		return field.ErrorList{field.Invalid(path, value, apivalidation.IsNegativeErrorMsg)}
	}
	return nil
}

// podOneOf checks a value against all that are supported, in the order in which the error shows them.
func podOneOf[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, supported)}
}

// podChoice is podOneOf for a value that must be there.
func podChoice[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return podOneOf(path, value, supported...)
}

// podFileMode checks the permissions of a file; nil leaves them to the kubelet.
func podFileMode(path *field.Path, mode *int32) field.ErrorList {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		return field.ErrorList{field.Invalid(path, *mode, "must be a number between 0 and 0777 (octal), both inclusive")}
	}
	return nil
}

// podNoBacksteps checks that no element of a path is "..".
func podNoBacksteps(path *field.Path, value string) field.ErrorList {
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

// podRelativePath checks a path that must stay below where it starts.
func podRelativePath(path *field.Path, value string) (errs field.ErrorList) {
	if strings.HasPrefix(value, "/") {
		errs = append(errs, field.Invalid(path, value, "must be a relative path"))
	}
	return append(errs, podNoBacksteps(path, value)...)
}

// podFilePath checks the path of a file that the kubelet writes: names that begin with ".." are its own.
func podFilePath(path *field.Path, value string) field.ErrorList {
	errs := podRelativePath(path, value)
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
