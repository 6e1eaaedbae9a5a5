package resource

import (
	"math"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// deviceID identifies an allocated device, or a share of one. Error messages show its fields.
type deviceID struct{ Driver, Pool, Device, ShareID string }

// deviceIDs returns the devices of an allocation, which may be nil.
func deviceIDs(a *resourcev1.AllocationResult) map[deviceID]bool {
	if a == nil {
		return nil
	}
	ids := make(map[deviceID]bool, len(a.Devices.Results))
	for _, r := range a.Devices.Results {
		id := deviceID{Driver: r.Driver, Pool: r.Pool, Device: r.Device}
		if r.ShareID != nil {
			id.ShareID = string(*r.ShareID)
		}
		ids[id] = true
	}
	return ids
}

func statusID(d *resourcev1.AllocatedDeviceStatus) deviceID {
	id := deviceID{Driver: d.Driver, Pool: d.Pool, Device: d.Device}
	if d.ShareID != nil {
		id.ShareID = *d.ShareID
	}
	return id
}

// dropDeallocated drops the status of devices that this write deallocates.
func dropDeallocated(status, old *resourcev1.ResourceClaimStatus) {
	before, now := deviceIDs(old.Allocation), deviceIDs(status.Allocation)
	var kept []resourcev1.AllocatedDeviceStatus
	for i := range status.Devices {
		if id := statusID(&status.Devices[i]); !before[id] || now[id] {
			kept = append(kept, status.Devices[i])
		}
	}
	status.Devices = kept
}

// checkClaimStatus checks the status of a claim. An allocation can be set and cleared, but not changed.
func checkClaimStatus(c, old *resourcev1.ResourceClaim) (f findings) {
	status, path := &c.Status, field.NewPath("status")
	reserved := uniqueList(status.ReservedFor, resourcev1.ResourceClaimReservedForMaxSize,
		func(r *resourcev1.ResourceClaimConsumerReference) types.UID { return r.UID },
		path.Child("reservedFor"), checkConsumer)
	allocated := deviceIDs(status.Allocation)
	devices := uniqueList(status.Devices, math.MaxInt, shareKeyOf, path.Child("devices"),
		func(d *resourcev1.AllocatedDeviceStatus, at *field.Path) findings {
			return checkDeviceStatus(d, allocated, at)
		})
	var allocation findings
	switch at := path.Child("allocation"); {
	case status.Allocation == nil:
	case old.Status.Allocation == nil:
		allocation = checkAllocation(status.Allocation, namesOf(c.Spec.Devices.Requests), at)
	case !equality.Semantic.DeepEqual(status.Allocation, old.Status.Allocation):
		allocation.declare(field.Invalid(at, nil, "field cannot be modified once set"))
	}
	// Kubernetes orders hand-written and declared errors differently.
	f.write(reserved.written...)
	f.write(devices.written...)
	f.write(validateReservations(c, old, path.Child("reservedFor"))...)
	f.write(allocation.written...)
	f.declare(allocation.declared...)
	f.declare(reserved.declared...)
	f.declare(devices.declared...)
	return f
}

// shareKey is the key of a device's status. Unlike a deviceID, it distinguishes an empty share ID from a missing one.
type shareKey struct {
	deviceID
	shared bool
}

func shareKeyOf(d *resourcev1.AllocatedDeviceStatus) shareKey {
	return shareKey{statusID(d), d.ShareID != nil}
}

func checkConsumer(r *resourcev1.ResourceClaimConsumerReference, path *field.Path) (f findings) {
	f.write(fieldcheck.Required(path.Child("resource"), r.Resource, "")...)
	f.write(fieldcheck.Required(path.Child("name"), r.Name, "")...)
	f.write(fieldcheck.Required(path.Child("uid"), string(r.UID), "")...)
	return f
}

// validateReservations rejects reservations of a claim that is not allocated, and new ones of a claim that is being
// deleted.
func validateReservations(c, old *resourcev1.ResourceClaim, path *field.Path) field.ErrorList {
	if len(c.Status.ReservedFor) == 0 {
		return nil
	}
	if c.Status.Allocation == nil {
		return field.ErrorList{field.Forbidden(path, "may not be specified when `allocated` is not set")}
	}
	if c.DeletionTimestamp == nil {
		return nil
	}
	before := map[resourcev1.ResourceClaimConsumerReference]bool{}
	for _, r := range old.Status.ReservedFor {
		before[r] = true
	}
	for _, r := range c.Status.ReservedFor {
		if !before[r] {
			return field.ErrorList{field.Forbidden(path,
				"new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set")}
		}
	}
	return nil
}
