package podspec

import (
	corev1 "k8s.io/api/core/v1"
)

// defaultVolume makes a volume without a source an emptyDir, and applies the defaults of the sources.
func defaultVolume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	switch {
	case v.Secret != nil:
		defaultMode(&v.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	case v.ConfigMap != nil:
		defaultMode(&v.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	case v.DownwardAPI != nil:
		defaultMode(&v.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		defaultDownwardFiles(v.DownwardAPI.Items)
	case v.Projected != nil:
		defaultProjected(v.Projected)
	case v.HostPath != nil:
		if v.HostPath.Type == nil {
			v.HostPath.Type = new(corev1.HostPathUnset)
		}
	case v.Image != nil:
		if v.Image.PullPolicy == "" {
			v.Image.PullPolicy = pullPolicyOf(v.Image.Reference)
		}
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		defaultClaimSpec(&v.Ephemeral.VolumeClaimTemplate.Spec)
	default:
		defaultDisk(&v.VolumeSource)
	}
}

// DefaultClaim sets the fields of a claim, or of a workload's claim template, that the user omitted.
func DefaultClaim(claim *corev1.PersistentVolumeClaim) {
	if claim.Status.Phase == "" {
		claim.Status.Phase = corev1.ClaimPending
	}
	defaultClaimSpec(&claim.Spec)
	RoundUp(claim.Status.Capacity)
	RoundUp(claim.Status.AllocatedResources)
}

func defaultClaimSpec(spec *corev1.PersistentVolumeClaimSpec) {
	if spec.VolumeMode == nil {
		spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
	}
	RoundUp(spec.Resources.Limits)
	RoundUp(spec.Resources.Requests)
}

func defaultMode(mode **int32, value int32) {
	if *mode == nil {
		*mode = &value
	}
}

func defaultDownwardFiles(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		defaultFieldRef(files[i].FieldRef)
	}
}

func defaultProjected(p *corev1.ProjectedVolumeSource) {
	defaultMode(&p.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
	for i := range p.Sources {
		source := &p.Sources[i]
		if source.DownwardAPI != nil {
			defaultDownwardFiles(source.DownwardAPI.Items)
		}
		if token := source.ServiceAccountToken; token != nil && token.ExpirationSeconds == nil {
			token.ExpirationSeconds = new(int64(60 * 60))
		}
	}
}

// defaultDisk applies the defaults of disks in storage systems.
func defaultDisk(source *corev1.VolumeSource) {
	switch {
	case source.ISCSI != nil:
		if source.ISCSI.ISCSIInterface == "" {
			source.ISCSI.ISCSIInterface = "default"
		}
	case source.RBD != nil:
		defaultRBD(source.RBD)
	case source.AzureDisk != nil:
		defaultAzureDisk(source.AzureDisk)
	case source.ScaleIO != nil:
		if source.ScaleIO.StorageMode == "" {
			source.ScaleIO.StorageMode = "ThinProvisioned"
		}
		if source.ScaleIO.FSType == "" {
			source.ScaleIO.FSType = "xfs"
		}
	}
}

func defaultRBD(rbd *corev1.RBDVolumeSource) {
	if rbd.RBDPool == "" {
		rbd.RBDPool = "rbd"
	}
	if rbd.RadosUser == "" {
		rbd.RadosUser = "admin"
	}
	if rbd.Keyring == "" {
		rbd.Keyring = "/etc/ceph/keyring"
	}
}

func defaultAzureDisk(disk *corev1.AzureDiskVolumeSource) {
	if disk.CachingMode == nil {
		disk.CachingMode = new(corev1.AzureDataDiskCachingReadWrite)
	}
	if disk.Kind == nil {
		disk.Kind = new(corev1.AzureSharedBlobDisk)
	}
	if disk.FSType == nil {
		disk.FSType = new("ext4")
	}
	if disk.ReadOnly == nil {
		disk.ReadOnly = new(false)
	}
}
