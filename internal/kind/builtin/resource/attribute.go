package resource

import (
	"fmt"
	"regexp"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// eachEntry checks the entries of a map of attributes or capacities: their names and values. Errors of a name have the
// path of the map.
func eachEntry[T any](entries map[resourcev1.QualifiedName]T, path *field.Path,
	check func(*T, *field.Path) findings) (f findings) {
	for _, name := range fieldcheck.SortedKeys(entries) {
		if f.full() {
			break
		}
		value := entries[name]
		f.write(qualifiedName(path, string(name))...)
		f.add(check(&value, path.Key(string(name))))
	}
	return f
}

// semanticVersion matches the versions of semver.org, version 2.0.0.
var semanticVersion = regexp.MustCompile(`^` + versionNumber + `\.` + versionNumber + `\.` + versionNumber +
	`(?:-` + prerelease + `(?:\.` + prerelease + `)*)?(?:\+` + build + `(?:\.` + build + `)*)?$`)

const (
	versionNumber = `(?:0|[1-9]\d*)`
	prerelease    = `(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)`
	build         = `[0-9a-zA-Z-]+`
)

// checkAttribute requires one value. dropFromSlice has dropped lists of values.
func checkAttribute(a *resourcev1.DeviceAttribute, path *field.Path) (f findings) {
	const most = resourcev1.DeviceAttributeMaxValueLength
	if a.StringValue != nil && len(*a.StringValue) > most {
		f.write(field.TooLong(path.Child("string"), "", most))
	}
	if v, at := a.VersionValue, path.Child("version"); v != nil {
		if !semanticVersion.MatchString(*v) {
			f.write(field.Invalid(at, *v, "must be a string compatible with semver.org spec 2.0.0"))
		}
		if len(*v) > most {
			f.write(field.TooLong(at, "", most))
		}
	}
	var set []string
	for _, value := range []struct {
		name  string
		isSet bool
	}{
		{"int", a.IntValue != nil}, {"bool", a.BoolValue != nil}, {"string", a.StringValue != nil},
		{"version", a.VersionValue != nil},
	} {
		if value.isSet {
			set = append(set, value.name)
		}
	}
	const forms = "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"
	switch len(set) {
	case 0:
		f.declare(field.Invalid(path, "", "must specify one of: "+forms))
	case 1:
	default:
		f.declare(field.Invalid(path, fmt.Sprintf("{%s}", strings.Join(set, ", ")),
			"must specify exactly one of: "+forms))
	}
	return f
}
