package resource

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// checkDevice checks a device of a slice. old is the device of the same name before an update, or nil. perDevice
// reports whether the devices of the slice select their nodes individually.
func checkDevice(d, old *resourcev1.Device, perDevice bool, path *field.Path) (f findings) {
	f.write(fieldcheck.LabelName(path.Child("name"), d.Name)...)
	f.write(validateDeviceSize(d, path)...)
	f.add(eachEntry(d.Attributes, path.Child("attributes"), checkAttribute))
	if old == nil || !equality.Semantic.DeepEqual(old.Capacity, d.Capacity) {
		check := checkExclusiveCapacity
		if ptr.Deref(d.AllowMultipleAllocations, false) {
			check = checkSharedCapacity
		}
		f.add(eachEntry(d.Capacity, path.Child("capacity"), check))
	}
	taints := checkTaints(d, old, path.Child("taints"))
	counters := uniqueList(d.ConsumesCounters, resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice,
		func(c *resourcev1.DeviceCounterConsumption) string { return c.CounterSet },
		path.Child("consumesCounters"), checkConsumption)
	// Kubernetes orders hand-written and declared errors differently.
	f.write(taints.written...)
	f.add(counters)
	f.declare(taints.declared...)
	f.write(validateDeviceNodes(d, perDevice, path)...)
	f.add(checkBinding(d.BindingConditions, d.BindingFailureConditions, path))
	return f
}

// validateDeviceSize limits the number of attributes and capacities, and of the values of attributes.
func validateDeviceSize(d *resourcev1.Device, path *field.Path) (errs field.ErrorList) {
	const (
		mostEntries = resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice
		mostValues  = resourcev1.ResourceSliceMaxAttributeValuesPerDevice
	)
	if n := len(d.Attributes) + len(d.Capacity); n > mostEntries {
		errs = append(errs, field.Invalid(path, n,
			fmt.Sprintf("the total number of attributes and capacities must not exceed %d", mostEntries)))
	}
	if n := len(d.Attributes); n > mostValues {
		errs = append(errs, field.Invalid(path, n,
			fmt.Sprintf("the total number of attribute values must not exceed %d", mostValues)))
	}
	return errs
}

// checkTaints checks the taints of a device. Unchanged taints may have been stored under other rules.
func checkTaints(d, old *resourcev1.Device, path *field.Path) (f findings) {
	switch n, most := len(d.Taints), resourcev1.DeviceTaintsMaxLength; {
	case old != nil && equality.Semantic.DeepEqual(old.Taints, d.Taints):
	case n > most:
		f.write(field.TooMany(path, n, most))
	default:
		f.add(eachItem(d.Taints, path, checkTaint))
	}
	f.add(eachItem(d.Taints, path, checkEffect))
	return f
}

// validateDeviceNodes checks the fields that select the nodes of a device. Only slices with perDeviceNodeSelection may
// set them.
func validateDeviceNodes(d *resourcev1.Device, perDevice bool, path *field.Path) field.ErrorList {
	if !perDevice {
		if d.NodeName == nil && d.NodeSelector == nil && d.AllNodes == nil {
			return nil
		}
		return field.ErrorList{field.Invalid(path, nil, "`nodeName`, `nodeSelector` and `allNodes` can only be set if "+
			"`perDeviceNodeSelection` is set to true in the ResourceSlice spec")}
	}
	const oneOf = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when " +
		"`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
	n := nodes{path: path}
	n.name(d.NodeName, "must not be empty")
	n.selector(d.NodeSelector)
	n.flag("allNodes", d.AllNodes, "must be either unset or set to true")
	return n.oneOf(oneOf, oneOf)
}
