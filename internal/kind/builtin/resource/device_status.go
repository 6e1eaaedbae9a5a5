package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// checkDeviceStatus checks the status that a driver reports for an allocated device.
func checkDeviceStatus(d *resourcev1.AllocatedDeviceStatus, allocated map[deviceID]bool,
	path *field.Path) (f findings) {
	f.write(driverName(path.Child("driver"), d.Driver)...)
	f.write(poolName(path.Child("pool"), d.Pool)...)
	f.write(fieldcheck.LabelName(path.Child("device"), d.Device)...)
	if d.ShareID != nil {
		f.declare(format(validate.UUID[string], path.Child("shareID"), *d.ShareID)...)
	}
	if id := statusID(d); !allocated[id] {
		f.write(field.Invalid(path, id, "must be an allocated device in the claim"))
	}
	conditions := path.Child("conditions")
	if n, most := len(d.Conditions), resourcev1.AllocatedDeviceStatusMaxConditions; n > most {
		f.write(field.TooMany(conditions, n, most))
	}
	f.write(validateConditions(d.Conditions, conditions)...)
	if d.Data != nil && len(d.Data.Raw) > 0 {
		f.write(jsonObject(path.Child("data"), d.Data.Raw, resourcev1.AllocatedDeviceStatusDataMaxLength)...)
	}
	f.add(checkNetwork(d.NetworkData, path.Child("networkData")))
	return f
}

// validateConditions validates the first conditions of a list, as many as a response could report errors for. Callers
// reject longer lists.
func validateConditions(conditions []metav1.Condition, path *field.Path) field.ErrorList {
	return metavalidation.ValidateConditions(conditions[:min(len(conditions), enough)], path)
}

func checkNetwork(n *resourcev1.NetworkDeviceData, path *field.Path) (f findings) {
	if n == nil {
		return f
	}
	f.declare(maxBytes(path.Child("interfaceName"), n.InterfaceName,
		resourcev1.NetworkDeviceDataInterfaceNameMaxLength)...)
	f.add(uniqueList(n.IPs, resourcev1.NetworkDeviceDataMaxIPs, itself, path.Child("ips"),
		func(ip *string, at *field.Path) (f findings) {
			f.write(validation.IsValidInterfaceAddress(at, *ip)...)
			return f
		}))
	f.declare(maxBytes(path.Child("hardwareAddress"), n.HardwareAddress,
		resourcev1.NetworkDeviceDataHardwareAddressMaxLength)...)
	return f
}

func maxBytes(path *field.Path, value string, most int) field.ErrorList {
	if len(value) > most {
		return field.ErrorList{field.TooLong(path, value, most)}
	}
	return nil
}
