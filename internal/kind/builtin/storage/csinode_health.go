package storage

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// The limits of the health that a driver reports.
const (
	maxHealthConditions = 16
	maxHealthReason     = 256
	maxHealthMessage    = 1024
)

// validateStorageHealth validates the health of the storage of a node, for each of its drivers.
func validateStorageHealth(drivers []storagev1.StorageHealth, path *field.Path) (errs field.ErrorList) {
	seen := map[string]bool{}
	for i := range drivers {
		if len(errs) >= maxErrors {
			break
		}
		d, at := &drivers[i], path.Index(i)
		if seen[d.Name] {
			errs = append(errs, field.Duplicate(at, d.Name))
		}
		seen[d.Name] = true
		errs = append(errs, core.ValidateCSIDriverName(at.Child("name"), d.Name)...)
		conditions := at.Child("healthConditions")
		if len(d.HealthConditions) > maxHealthConditions {
			errs = append(errs, field.TooMany(conditions, len(d.HealthConditions), maxHealthConditions))
			continue
		}
		for j := range d.HealthConditions {
			errs = append(errs, validateHealthCondition(&d.HealthConditions[j], conditions.Index(j))...)
		}
	}
	return errs
}

func validateHealthCondition(c *storagev1.StorageHealthCondition, path *field.Path) field.ErrorList {
	errs := fieldcheck.OneOf(path.Child("status"), c.Status, storagev1.StorageDegraded, storagev1.StorageUnreachable)
	if reason := path.Child("reason"); c.Reason == "" {
		errs = append(errs, field.Required(reason, ""))
	} else {
		errs = append(errs, fieldcheck.Invalid(reason, c.Reason, metavalidation.IsValidConditionReason(c.Reason))...)
		if len(c.Reason) > maxHealthReason {
			errs = append(errs, field.TooLong(reason, "", maxHealthReason))
		}
	}
	if len(c.Message) > maxHealthMessage {
		errs = append(errs, field.TooLong(path.Child("message"), "", maxHealthMessage))
	}
	if c.AccessMode != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("accessMode"), *c.AccessMode, corev1.ReadOnlyMany,
			corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)...)
	}
	if c.VolumeMode != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("volumeMode"), *c.VolumeMode,
			corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock)...)
	}
	return errs
}
