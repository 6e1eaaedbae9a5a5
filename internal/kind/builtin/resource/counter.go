package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// checkCounterSet checks a set of counters, from which the devices of a pool consume.
func checkCounterSet(s *resourcev1.CounterSet, path *field.Path) (f findings) {
	f.declare(declaredLabel(path.Child("name"), s.Name)...)
	f.add(checkCounters(s.Counters, resourcev1.ResourceSliceMaxCountersPerCounterSet, path.Child("counters")))
	return f
}

// checkConsumption checks which counters of a set a device consumes.
func checkConsumption(c *resourcev1.DeviceCounterConsumption, path *field.Path) (f findings) {
	f.declare(declaredLabel(path.Child("counterSet"), c.CounterSet)...)
	f.add(checkCounters(c.Counters, resourcev1.ResourceSliceMaxCountersPerDeviceCounterConsumption,
		path.Child("counters")))
	return f
}

// checkCounters checks the names of counters. Any quantity is valid.
func checkCounters(counters map[string]resourcev1.Counter, most int, path *field.Path) (f findings) {
	if len(counters) == 0 {
		f.declare(field.Required(path, ""))
	}
	if n := len(counters); n > most {
		f.write(field.TooMany(path, n, most))
	}
	for _, name := range fieldcheck.SortedKeys(counters) {
		if f.full() {
			break
		}
		f.declare(format(validate.ShortName[string], path, name)...)
	}
	return f
}
