package resource

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

func checkSlice(s, old *resourcev1.ResourceSlice) (f findings) {
	spec, path := &s.Spec, field.NewPath("spec")
	f.write(driverName(path.Child("driver"), spec.Driver)...)
	f.write(validatePool(&spec.Pool, path.Child("pool"))...)
	if old != nil {
		f.write(apivalidation.ValidateImmutableField(spec.Pool.Name, old.Spec.Pool.Name, path.Child("pool", "name"))...)
		f.write(apivalidation.ValidateImmutableField(spec.Driver, old.Spec.Driver, path.Child("driver"))...)
		f.write(apivalidation.ValidateImmutableField(spec.NodeName, old.Spec.NodeName, path.Child("nodeName"))...)
	}
	f.write(validateSliceNodes(spec, path)...)
	if spec.SharedCounters != nil && spec.Devices != nil {
		f.write(field.Invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"))
	}
	f.add(checkDevices(s, old, path.Child("devices")))
	f.add(uniqueList(spec.SharedCounters, resourcev1.ResourceSliceMaxCounterSets,
		func(c *resourcev1.CounterSet) string { return c.Name }, path.Child("sharedCounters"), checkCounterSet))
	return f
}

func validatePool(p *resourcev1.ResourcePool, path *field.Path) field.ErrorList {
	errs := poolName(path.Child("name"), p.Name)
	if p.ResourceSliceCount <= 0 {
		errs = append(errs, field.Invalid(path.Child("resourceSliceCount"), p.ResourceSliceCount,
			"must be greater than zero"))
	}
	if p.Generation < 0 {
		errs = append(errs, field.Invalid(path.Child("generation"), p.Generation,
			"must be greater than or equal to zero"))
	}
	return errs
}

// validateSliceNodes requires exactly one of the fields that select the nodes of the devices.
func validateSliceNodes(spec *resourcev1.ResourceSliceSpec, path *field.Path) field.ErrorList {
	const (
		oneOf = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
		isSet = "must be either unset or set to true"
	)
	n := nodes{path: path}
	n.name(spec.NodeName, "must be either unset or set to a non-empty string")
	if n.selector(spec.NodeSelector); spec.NodeSelector != nil {
		// Allocations merge the selectors of several slices.
		if terms := spec.NodeSelector.NodeSelectorTerms; len(terms) != 1 {
			n.errs = append(n.errs, field.Invalid(path.Child("nodeSelector", "nodeSelectorTerms"),
				podspec.Layout(terms), "must have exactly one node selector term"))
		}
	}
	n.flag("allNodes", spec.AllNodes, isSet)
	n.flag("perDeviceNodeSelection", spec.PerDeviceNodeSelection, isSet)
	return n.oneOf(oneOf, oneOf+", but multiple fields are set")
}

// nodes collects the names of the set fields that select the nodes of a slice or device, and the errors of these
// fields.
type nodes struct {
	path *field.Path
	set  []string
	errs field.ErrorList
}

func (n *nodes) name(name *string, empty string) {
	switch at := n.path.Child("nodeName"); {
	case name == nil:
	case *name == "":
		n.errs = append(n.errs, field.Invalid(at, *name, empty))
	default:
		n.set = append(n.set, "`nodeName`")
		n.errs = append(n.errs, fieldcheck.ObjectName(at, *name, false)...)
	}
}

func (n *nodes) selector(s *corev1.NodeSelector) {
	if s != nil {
		n.set = append(n.set, "`nodeSelector`")
		n.errs = append(n.errs, podspec.ValidateNodeSelector(s, true, enough, n.path.Child("nodeSelector"))...)
	}
}

func (n *nodes) flag(name string, value *bool, message string) {
	switch {
	case value == nil:
	case *value:
		n.set = append(n.set, "`"+name+"`")
	default:
		n.errs = append(n.errs, field.Invalid(n.path.Child(name), *value, message))
	}
}

// oneOf returns all errors, and requires exactly one field: none is the message for no field, several that for more
// than one.
func (n *nodes) oneOf(none, several string) field.ErrorList {
	switch len(n.set) {
	case 0:
		return append(n.errs, field.Required(n.path, none))
	case 1:
		return n.errs
	}
	return append(n.errs, field.Invalid(n.path, fmt.Sprintf("{%s}", strings.Join(n.set, ", ")), several))
}

// checkDevices checks the devices of a slice. A slice whose devices have taints or counters may have fewer of them.
func checkDevices(s, old *resourcev1.ResourceSlice, path *field.Path) (f findings) {
	devices, most := s.Spec.Devices, resourcev1.ResourceSliceMaxDevices
	for i := range devices {
		if len(devices[i].Taints) > 0 || len(devices[i].ConsumesCounters) > 0 {
			most = resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
			break
		}
	}
	before, changed := map[string]*resourcev1.Device{}, true
	if old != nil {
		for i := range old.Spec.Devices {
			if d := &old.Spec.Devices[i]; before[d.Name] == nil {
				before[d.Name] = d
			}
		}
		changed = !equality.Semantic.DeepEqual(devices, old.Spec.Devices)
	}
	each := eachItem(devices, path, func(d *resourcev1.Device, at *field.Path) findings {
		return checkDevice(d, before[d.Name], ptr.Deref(s.Spec.PerDeviceNodeSelection, false), at)
	})
	if changed {
		f.declare(each.declared...)
	}
	if len(devices) > most {
		f.write(field.TooMany(path, len(devices), most))
		return f
	}
	f.write(each.written...)
	for _, i := range duplicates(devices, func(d *resourcev1.Device) string { return d.Name }) {
		f.write(field.Duplicate(path.Index(i), devices[i].Name))
	}
	return f
}
