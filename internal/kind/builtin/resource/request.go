package resource

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

func defaultRequests(requests []resourcev1.DeviceRequest) {
	for i := range requests {
		if exact := requests[i].Exactly; exact != nil {
			defaultMode(&exact.AllocationMode, &exact.Count)
			defaultTolerations(exact.Tolerations)
		}
		for j := range requests[i].FirstAvailable {
			sub := &requests[i].FirstAvailable[j]
			defaultMode(&sub.AllocationMode, &sub.Count)
			defaultTolerations(sub.Tolerations)
		}
	}
}

// defaultMode sets the default mode, ExactCount, and the default count, 1.
func defaultMode(mode *resourcev1.DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = resourcev1.DeviceAllocationModeExactCount
	}
	if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}

// checkRequest checks a request, which has either a single form or a list of alternatives.
func (c *compilation) checkRequest(r *resourcev1.DeviceRequest, path *field.Path) (f findings) {
	const either = "exactly one of `exactly` or `firstAvailable` is required"
	f.write(fieldcheck.LabelName(path.Child("name"), r.Name)...)
	switch {
	case r.Exactly == nil && len(r.FirstAvailable) == 0:
		f.write(field.Required(path, either))
	case r.Exactly == nil:
		f.add(c.checkAlternatives(r.FirstAvailable, path.Child("firstAvailable")))
	case len(r.FirstAvailable) == 0:
		f.add(c.checkExactly(r.Exactly, path.Child("exactly")))
	default:
		f.write(field.Invalid(path, nil, either+", but multiple fields are set"))
		f.declare(c.checkExactly(r.Exactly, path.Child("exactly")).declared...)
		f.declare(c.checkAlternatives(r.FirstAvailable, path.Child("firstAvailable")).declared...)
	}
	return f
}

func (c *compilation) checkAlternatives(list []resourcev1.DeviceSubRequest, path *field.Path) findings {
	return uniqueList(list, resourcev1.FirstAvailableDeviceRequestMaxSize,
		func(r *resourcev1.DeviceSubRequest) string { return r.Name }, path, c.checkAlternative)
}

func (c *compilation) checkExactly(r *resourcev1.ExactDeviceRequest, path *field.Path) (f findings) {
	f.write(className(path.Child("deviceClassName"), r.DeviceClassName)...)
	f.add(c.checkSelection(r.Selectors, r.AllocationMode, r.Count, r.Tolerations, path))
	return f
}

func (c *compilation) checkAlternative(r *resourcev1.DeviceSubRequest, path *field.Path) (f findings) {
	f.write(fieldcheck.LabelName(path.Child("name"), r.Name)...)
	if class := path.Child("deviceClassName"); r.DeviceClassName == "" {
		f.declare(field.Required(class, ""))
	} else {
		f.declare(format(validate.LongName[string], class, r.DeviceClassName)...)
	}
	f.add(c.checkSelection(r.Selectors, r.AllocationMode, r.Count, r.Tolerations, path))
	return f
}

// checkSelection checks the fields that both forms of a request have.
func (c *compilation) checkSelection(selectors []resourcev1.DeviceSelector, mode resourcev1.DeviceAllocationMode,
	count int64, tolerations []resourcev1.DeviceToleration, path *field.Path) (f findings) {
	f.add(limitedList(selectors, maxSelectors, path.Child("selectors"), c.checkSelector))
	f.add(checkMode(mode, count, path))
	f.add(eachItem(tolerations, path.Child("tolerations"), checkToleration))
	return f
}

func checkMode(mode resourcev1.DeviceAllocationMode, count int64, path *field.Path) (f findings) {
	const (
		all   = resourcev1.DeviceAllocationModeAll
		exact = resourcev1.DeviceAllocationModeExactCount
	)
	switch at := path.Child("count"); {
	case mode == all && count != 0:
		f.write(field.Invalid(at, count, fmt.Sprintf("must not be specified when allocationMode is '%s'", mode)))
	case mode == exact && count <= 0:
		f.write(field.Invalid(at, count, "must be greater than zero"))
	case mode == "":
		f.write(fieldcheck.OneOf(path.Child("allocationMode"), mode, all, exact)...)
	default:
		f.declare(fieldcheck.OneOf(path.Child("allocationMode"), mode, all, exact)...)
	}
	return f
}
