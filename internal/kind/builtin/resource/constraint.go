package resource

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// requestNames maps the name of each request of a claim to the names of its alternatives.
type requestNames map[string]map[string]bool

func namesOf(requests []resourcev1.DeviceRequest) requestNames {
	names := make(requestNames, len(requests))
	for _, r := range requests {
		alternatives := make(map[string]bool, len(r.FirstAvailable))
		for _, sub := range r.FirstAvailable {
			alternatives[sub.Name] = true
		}
		names[r.Name] = alternatives
	}
	return names
}

// checkReference requires the name of a request, with or without the name of an alternative.
func (n requestNames) checkReference(path *field.Path, name string) (errs field.ErrorList) {
	unknown := field.Invalid(path, name,
		"must be the name of a request in the claim or the name of a request and a subrequest separated by '/'")
	if strings.Count(name, "/") > 1 {
		return field.ErrorList{unknown}
	}
	request, alternative, hasAlternative := strings.Cut(name, "/")
	errs = fieldcheck.LabelName(path, request)
	if hasAlternative {
		errs = append(errs, fieldcheck.LabelName(path, alternative)...)
	}
	if known, ok := n[request]; !ok || hasAlternative && !known[alternative] {
		errs = append(errs, unknown)
	}
	return errs
}

// checkReferences checks a list of references to requests, which must be unique.
func (n requestNames) checkReferences(list []string, path *field.Path) findings {
	return uniqueList(list, resourcev1.DeviceRequestsMaxSize, itself, path,
		func(name *string, at *field.Path) (f findings) {
			f.write(n.checkReference(at, *name)...)
			return f
		})
}

func (n requestNames) checkConstraint(c *resourcev1.DeviceConstraint, path *field.Path) (f findings) {
	f.add(n.checkReferences(c.Requests, path.Child("requests")))
	if c.MatchAttribute == nil && c.DistinctAttribute == nil {
		f.write(field.Required(path,
			`exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`))
	}
	if a := c.MatchAttribute; a != nil {
		f.declare(format(validate.ResourceFullyQualifiedName[resourcev1.FullyQualifiedName],
			path.Child("matchAttribute"), *a)...)
	}
	if a := c.DistinctAttribute; a != nil {
		f.declare(format(validate.ResourceFullyQualifiedName[resourcev1.FullyQualifiedName],
			path.Child("distinctAttribute"), *a)...)
	}
	return f
}

func (n requestNames) checkClaimConfig(c *resourcev1.DeviceClaimConfiguration, path *field.Path) (f findings) {
	f.add(n.checkReferences(c.Requests, path.Child("requests")))
	f.add(checkConfig(&c.DeviceConfiguration, false, path))
	return f
}
