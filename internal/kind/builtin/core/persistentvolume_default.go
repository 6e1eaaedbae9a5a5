package core

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// defaultPersistentVolume sets the fields that the user omitted.
func defaultPersistentVolume(v *corev1.PersistentVolume) {
	if v.Status.Phase == "" {
		v.Status.Phase = corev1.VolumePending
	}
	if v.Spec.PersistentVolumeReclaimPolicy == "" {
		v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	}
	if v.Spec.VolumeMode == nil {
		v.Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
	}
	DefaultVolumeSpec(&v.Spec)
}

// DefaultVolumeSpec sets the defaults of the sources and rounds the capacity. Volumes share these defaults with the
// inline specs of volume attachments.
func DefaultVolumeSpec(spec *corev1.PersistentVolumeSpec) {
	podspec.RoundUp(spec.Capacity)
	if spec.HostPath != nil && spec.HostPath.Type == nil {
		spec.HostPath.Type = new(corev1.HostPathUnset)
	}
	if rbd := spec.RBD; rbd != nil {
		rbd.RBDPool = cmp.Or(rbd.RBDPool, "rbd")
		rbd.RadosUser = cmp.Or(rbd.RadosUser, "admin")
		rbd.Keyring = cmp.Or(rbd.Keyring, "/etc/ceph/keyring")
	}
	if spec.ISCSI != nil {
		spec.ISCSI.ISCSIInterface = cmp.Or(spec.ISCSI.ISCSIInterface, "default")
	}
	if spec.ScaleIO != nil {
		spec.ScaleIO.StorageMode = cmp.Or(spec.ScaleIO.StorageMode, "ThinProvisioned")
		spec.ScaleIO.FSType = cmp.Or(spec.ScaleIO.FSType, "xfs")
	}
	if disk := spec.AzureDisk; disk != nil {
		disk.CachingMode = cmp.Or(disk.CachingMode, new(corev1.AzureDataDiskCachingReadWrite))
		disk.Kind = cmp.Or(disk.Kind, new(corev1.AzureSharedBlobDisk))
		disk.FSType = cmp.Or(disk.FSType, new("ext4"))
		disk.ReadOnly = cmp.Or(disk.ReadOnly, new(false))
	}
}
