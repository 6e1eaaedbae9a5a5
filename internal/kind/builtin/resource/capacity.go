package resource

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxValues is the maximum number of values that a policy may list.
const maxValues = 10

// checkExclusiveCapacity checks a capacity of a device that can be allocated once.
func checkExclusiveCapacity(c *resourcev1.DeviceCapacity, path *field.Path) (f findings) {
	if c.RequestPolicy != nil {
		f.write(field.Forbidden(path.Child("requestPolicy"), "allowMultipleAllocations must be true"))
	}
	return f
}

// checkSharedCapacity checks a capacity of a device that can be allocated several times. Its policy restricts the
// shares that requests may have.
func checkSharedCapacity(c *resourcev1.DeviceCapacity, path *field.Path) (f findings) {
	p := c.RequestPolicy
	if p == nil {
		return f
	}
	switch at := path.Child("requestPolicy"); {
	case len(p.ValidValues) > 0 && p.ValidRange != nil:
		f.write(field.Forbidden(at,
			`exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`))
	case len(p.ValidValues) > 0 && p.Default == nil:
		f.write(field.Required(at.Child("default"), "required when validValues is defined"))
	case len(p.ValidValues) > 0:
		f.write(validateValues(p.ValidValues, *p.Default, c.Value, at.Child("validValues"))...)
	case p.ValidRange != nil && p.Default == nil:
		f.write(field.Required(at.Child("default"), "required when validRange is defined"))
	case p.ValidRange != nil:
		r := capacityRange{p.ValidRange, *p.Default, c.Value, at.Child("validRange")}
		f.write(r.validate()...)
	}
	return f
}

// validateValues checks the values of a policy: they must be sorted, distinct and at most the capacity, and include the
// default.
func validateValues(values []apiresource.Quantity, byDefault, capacity apiresource.Quantity,
	path *field.Path) (errs field.ErrorList) {
	for i := 1; i < len(values) && len(errs) < enough; i++ {
		if values[i-1].Cmp(values[i]) > 0 {
			errs = append(errs, field.Invalid(path.Index(i), values[i].String(),
				"values must be sorted in ascending order"))
		}
	}
	hasDefault := false
	if n := len(values); n > maxValues {
		errs = append(errs, field.TooMany(path, n, maxValues))
	} else {
		for i, v := range values {
			if v.Cmp(capacity) > 0 {
				errs = append(errs, field.Invalid(path.Index(i), v.String(),
					"option is larger than capacity value: "+capacity.String()))
			}
			hasDefault = hasDefault || v.Cmp(byDefault) == 0
		}
		for _, i := range duplicates(values, decimal) {
			errs = append(errs, field.Duplicate(path.Index(i), decimal(&values[i])))
		}
	}
	if !hasDefault {
		errs = append(errs, field.Invalid(path, byDefault.String(),
			"default value is not valid according to the requestPolicy"))
	}
	return errs
}

// decimal formats a quantity as Kubernetes compares it, without normalizing it: 1 and 1000m differ.
func decimal(q *apiresource.Quantity) string {
	own := q.DeepCopy() // AsDec changes its receiver
	return own.AsDec().String()
}

// capacityRange is a policy for values from a minimum to a maximum, in steps.
type capacityRange struct {
	*resourcev1.CapacityRequestPolicyRange
	byDefault, capacity apiresource.Quantity
	path                *field.Path
}

func (r *capacityRange) validate() field.ErrorList {
	if r.Min == nil {
		return field.ErrorList{field.Required(r.path.Child("min"), "required when validRange is defined")}
	}
	errs := r.validateBounds()
	milli := r.isFractional()
	if milli {
		if unsafe := r.eachQuantity(milliValue); len(unsafe) > 0 {
			return append(errs, unsafe...)
		}
	}
	if r.Step == nil {
		return errs
	}
	at := r.path.Child("step")
	if r.Step.Sign() <= 0 {
		return append(errs, field.Invalid(at, r.Step.String(), "must be greater than zero"))
	}
	next := r.Min.DeepCopy()
	if next.Add(*r.Step); next.Cmp(r.capacity) > 0 {
		errs = append(errs, field.Invalid(at, r.Step.String(),
			fmt.Sprintf("one step %s is larger than capacity value: %s", next.String(), r.capacity.String())))
	}
	if !milli {
		if unsafe := r.eachQuantity(wholeValue); len(unsafe) > 0 {
			return append(errs, unsafe...)
		}
	}
	errs = append(errs, r.validateSteps(&r.byDefault, milli, at)...)
	if r.Max != nil {
		errs = append(errs, r.validateSteps(r.Max, milli, at)...)
	}
	return errs
}

// validateBounds compares the minimum, the maximum, the default and the capacity.
func (r *capacityRange) validateBounds() (errs field.ErrorList) {
	wrong := func(name string, q *apiresource.Quantity, message string, than *apiresource.Quantity) {
		errs = append(errs, field.Invalid(r.path.Child(name), q.String(), message+": "+than.String()))
	}
	if r.Min.Cmp(r.capacity) > 0 {
		wrong("min", r.Min, "min is larger than capacity value", &r.capacity)
	}
	if r.byDefault.Cmp(*r.Min) < 0 {
		wrong("default", &r.byDefault, "default is less than min", r.Min)
	}
	if r.Max == nil {
		return errs
	}
	if r.Min.Cmp(*r.Max) > 0 {
		wrong("max", r.Min, "min is larger than max", r.Max)
	}
	if r.Max.Cmp(r.capacity) > 0 {
		wrong("max", r.Max, "max is larger than capacity value", &r.capacity)
	}
	if r.byDefault.Cmp(*r.Max) > 0 {
		wrong("default", &r.byDefault, "default is more than max", r.Max)
	}
	return errs
}

// validateSteps requires that a value is a whole number of steps above the minimum.
func (r *capacityRange) validateSteps(value *apiresource.Quantity, milli bool, path *field.Path) field.ErrorList {
	number := (*apiresource.Quantity).Value
	if milli {
		number = (*apiresource.Quantity).MilliValue
	}
	step := number(r.Step)
	if step == 0 || (number(value)-number(r.Min))%step == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.String(), fmt.Sprintf(
		"value is not a multiple of a given step (%s) from (%s)", r.Step.String(), r.Min.String()))}
}
