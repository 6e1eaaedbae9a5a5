package resource

import (
	"strings"
	"unicode/utf8"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// driverName requires the name of a driver: a DNS subdomain in either case.
func driverName(path *field.Path, name string) (errs field.ErrorList) {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(name) > resourcev1.DriverNameMaxLength {
		errs = append(errs, field.TooLong(path, "", resourcev1.DriverNameMaxLength))
	}
	return append(errs, fieldcheck.Invalid(path, name, validation.IsDNS1123Subdomain(strings.ToLower(name)))...)
}

// declaredDriverName is driverName for fields whose format the API type declares.
func declaredDriverName(path *field.Path, name string) (errs field.ErrorList) {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	//lint:ignore SA1019 Kubernetes still accepts upper case in the names of drivers
	errs = format(validate.LongNameCaseless[string], path, name)
	if utf8.RuneCountInString(name) > resourcev1.DriverNameMaxLength {
		errs = append(errs, field.TooLongCharacters(path, name, resourcev1.DriverNameMaxLength))
	}
	return errs
}

// poolName requires the name of a pool: DNS subdomains, separated by slashes.
func poolName(path *field.Path, name string) (errs field.ErrorList) {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(name) > resourcev1.PoolNameMaxLength {
		errs = append(errs, field.TooLong(path, "", resourcev1.PoolNameMaxLength))
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(errs) >= enough {
			break
		}
		errs = append(errs, fieldcheck.Subdomain(path, part)...)
	}
	return errs
}

// declaredPoolName is poolName for fields whose format the API type declares.
func declaredPoolName(path *field.Path, name string) field.ErrorList {
	switch {
	case name == "":
		return field.ErrorList{field.Required(path, "")}
	case strings.Count(name, "/") > enough: // each part may have an error
		return field.ErrorList{field.TooLong(path, name, resourcev1.PoolNameMaxLength)}
	}
	return format(validate.ResourcePoolName[string], path, name)
}

// qualifiedName requires a C identifier, with or without the domain of a driver.
func qualifiedName(path *field.Path, name string) (errs field.ErrorList) {
	if strings.Count(name, "/") > 1 {
		return nil // Kubernetes does not check such a name
	}
	domain, id, found := strings.Cut(name, "/")
	if !found {
		return identifier(path, name)
	}
	if domain == "" {
		errs = append(errs, field.Invalid(path, "", "the domain must not be empty"))
	} else {
		errs = append(errs, driverName(path, domain)...)
	}
	if id == "" {
		return append(errs, field.Invalid(path, "", "the name must not be empty"))
	}
	return append(errs, identifier(path, id)...)
}

// identifier requires a C identifier.
func identifier(path *field.Path, id string) (errs field.ErrorList) {
	if len(id) > resourcev1.DeviceMaxIDLength {
		errs = append(errs, field.TooLong(path, "", resourcev1.DeviceMaxIDLength))
	}
	return append(errs, fieldcheck.Invalid(path, id, content.IsCIdentifier(id))...)
}

// className requires the name of a device class.
func className(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return fieldcheck.Subdomain(path, name)
}

// declaredLabel requires an RFC 1123 label, for fields whose format the API type declares.
func declaredLabel(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return format(validate.ShortName[string], path, name)
}

// labelValue requires the value of a label.
func labelValue(path *field.Path, value string) field.ErrorList {
	return fieldcheck.Invalid(path, value, validation.IsValidLabelValue(value))
}
