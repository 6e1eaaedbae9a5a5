package resource

import resourcev1 "k8s.io/api/resource/v1"

// The functions of this file drop the fields of features that Kubernetes 1.37 disables by default. Kubernetes retains
// such a field if the old object has it, which cannot happen here, because no write stores it.

// dropFromRequests drops the fields of the feature DRADerivedAttributes.
func dropFromRequests(requests []resourcev1.DeviceRequest) {
	for i := range requests {
		if exact := requests[i].Exactly; exact != nil {
			exact.DerivedAttributes = nil
		}
		for j := range requests[i].FirstAvailable {
			requests[i].FirstAvailable[j].DerivedAttributes = nil
		}
	}
}

// dropFromAllocation drops the fields of the feature DRAOptionalNodeOperations.
func dropFromAllocation(a *resourcev1.AllocationResult) {
	if a == nil {
		return
	}
	for i := range a.Devices.Results {
		a.Devices.Results[i].SkipNodeOperations = nil
	}
}

// dropFromSlice drops the fields of the features DRAPartitionableDevicesType, DRAOptionalNodeOperations,
// DRADeviceCompatibilityGroups, DRANodeAllocatableResources and DRAListTypeAttributes.
func dropFromSlice(s *resourcev1.ResourceSliceSpec) {
	s.PartitionTypeAttribute = nil
	s.SkipNodeOperations = nil
	for i := range s.Devices {
		d := &s.Devices[i]
		for j := range d.ConsumesCounters {
			d.ConsumesCounters[j].CompatibilityGroups = nil
		}
		d.NodeAllocatableResources = nil
		for name, a := range d.Attributes {
			if a.IntValues != nil || a.BoolValues != nil || a.StringValues != nil || a.VersionValues != nil {
				a.IntValues, a.BoolValues, a.StringValues, a.VersionValues = nil, nil, nil, nil
				d.Attributes[name] = a
			}
		}
	}
}
