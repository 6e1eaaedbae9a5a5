package podspec

import (
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// addOldSources validates the sources that precede secrets; current kubelets no longer support most of them.
func addOldSources(found *sources, v *corev1.Volume) {
	found.add(v.GitRepo != nil, "gitRepo", func(at *field.Path) field.ErrorList {
		return append(fieldcheck.Required(at.Child("repository"), v.GitRepo.Repository, ""),
			fieldcheck.RelativePath(at.Child("directory"), v.GitRepo.Directory)...)
	})
	found.add(v.GCEPersistentDisk != nil, "gcePersistentDisk", func(*field.Path) field.ErrorList {
		at := found.path.Child("persistentDisk")
		return append(fieldcheck.Required(at.Child("pdName"), v.GCEPersistentDisk.PDName, ""),
			validatePartition(v.GCEPersistentDisk.Partition, at)...)
	})
	found.add(v.AWSElasticBlockStore != nil, "awsElasticBlockStore", func(at *field.Path) field.ErrorList {
		return append(fieldcheck.Required(at.Child("volumeID"), v.AWSElasticBlockStore.VolumeID, ""),
			validatePartition(v.AWSElasticBlockStore.Partition, at)...)
	})
}

func validatePartition(partition int32, path *field.Path) field.ErrorList {
	if partition < 0 || partition > 255 {
		return field.ErrorList{field.Invalid(path.Child("partition"), partition,
			validation.InclusiveRangeError(1, 255))}
	}
	return nil
}

// addNetworkSources validates network storage.
func addNetworkSources(found *sources, v *corev1.Volume) {
	found.add(v.NFS != nil, "nfs", func(at *field.Path) field.ErrorList { return validateNFS(v.NFS, at) })
	found.add(v.ISCSI != nil, "iscsi", func(at *field.Path) field.ErrorList { return validateISCSI(v.ISCSI, at) })
	if i := v.ISCSI; i != nil && i.InitiatorName != nil && len(v.Name+":"+i.TargetPortal) > 64 {
		found.errs = append(found.errs, field.Invalid(found.path.Child("name"), v.Name,
			"Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."))
	}
	found.add(v.Glusterfs != nil, "glusterfs", func(at *field.Path) field.ErrorList {
		return append(fieldcheck.Required(at.Child("endpoints"), v.Glusterfs.EndpointsName, ""),
			fieldcheck.Required(at.Child("path"), v.Glusterfs.Path, "")...)
	})
	found.add(v.Flocker != nil, "flocker", func(at *field.Path) field.ErrorList {
		return validateFlocker(v.Flocker, at)
	})
	found.add(v.RBD != nil, "rbd", func(at *field.Path) field.ErrorList {
		return append(validateMonitors(v.RBD.CephMonitors, at),
			fieldcheck.Required(at.Child("image"), v.RBD.RBDImage, "")...)
	})
	found.add(v.Cinder != nil, "cinder", func(at *field.Path) field.ErrorList {
		return append(fieldcheck.Required(at.Child("volumeID"), v.Cinder.VolumeID, ""),
			validateSecretRef(v.Cinder.SecretRef, at.Child("secretRef"))...)
	})
	found.add(v.CephFS != nil, "cephfs", func(at *field.Path) field.ErrorList {
		return validateMonitors(v.CephFS.Monitors, at)
	})
	found.add(v.Quobyte != nil, "quobyte", func(at *field.Path) field.ErrorList {
		return validateQuobyte(v.Quobyte, at)
	})
	found.add(v.FC != nil, "fc", func(at *field.Path) field.ErrorList { return validateFC(v.FC, at) })
	found.add(v.FlexVolume != nil, "flexVolume", func(at *field.Path) field.ErrorList {
		return validateFlex(v.FlexVolume, at)
	})
}

// addDiskSources validates disks of specific vendors.
func addDiskSources(found *sources, v *corev1.Volume) {
	found.add(v.AzureFile != nil, "azureFile", func(at *field.Path) field.ErrorList {
		return append(fieldcheck.Required(at.Child("secretName"), v.AzureFile.SecretName, ""),
			fieldcheck.Required(at.Child("shareName"), v.AzureFile.ShareName, "")...)
	})
	found.add(v.VsphereVolume != nil, "vsphereVolume", func(at *field.Path) field.ErrorList {
		return fieldcheck.Required(at.Child("volumePath"), v.VsphereVolume.VolumePath, "")
	})
	found.add(v.PhotonPersistentDisk != nil, "photonPersistentDisk", func(at *field.Path) field.ErrorList {
		return fieldcheck.Required(at.Child("pdID"), v.PhotonPersistentDisk.PdID, "")
	})
	found.add(v.PortworxVolume != nil, "portworxVolume", func(at *field.Path) field.ErrorList {
		return fieldcheck.Required(at.Child("volumeID"), v.PortworxVolume.VolumeID, "")
	})
	found.add(v.AzureDisk != nil, "azureDisk", func(at *field.Path) field.ErrorList {
		return validateAzureDisk(v.AzureDisk, at)
	})
	found.add(v.StorageOS != nil, "storageos", func(at *field.Path) field.ErrorList {
		return validateStorageOS(v.StorageOS, at)
	})
	found.add(v.ScaleIO != nil, "scaleIO", func(at *field.Path) field.ErrorList {
		errs := fieldcheck.Required(at.Child("gateway"), v.ScaleIO.Gateway, "")
		errs = append(errs, fieldcheck.Required(at.Child("system"), v.ScaleIO.System, "")...)
		return append(errs, fieldcheck.Required(at.Child("volumeName"), v.ScaleIO.VolumeName, "")...)
	})
}

func validateSecretRef(ref *corev1.LocalObjectReference, path *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	return fieldcheck.Required(path.Child("name"), ref.Name, "")
}

func validateMonitors(monitors []string, path *field.Path) field.ErrorList {
	if len(monitors) == 0 {
		return field.ErrorList{field.Required(path.Child("monitors"), "")}
	}
	return nil
}

func validateNFS(n *corev1.NFSVolumeSource, path *field.Path) field.ErrorList {
	errs := fieldcheck.Required(path.Child("server"), n.Server, "")
	errs = append(errs, fieldcheck.Required(path.Child("path"), n.Path, "")...)
	if !strings.HasPrefix(n.Path, "/") {
		errs = append(errs, field.Invalid(path.Child("path"), n.Path, "must be an absolute path"))
	}
	return errs
}

func validateISCSI(i *corev1.ISCSIVolumeSource, path *field.Path) field.ErrorList {
	errs := fieldcheck.Required(path.Child("targetPortal"), i.TargetPortal, "")
	if i.IQN == "" {
		errs = append(errs, field.Required(path.Child("iqn"), ""))
	} else if !hasISCSIPrefix(i.IQN) {
		errs = append(errs, field.Invalid(path.Child("iqn"), i.IQN,
			"must be valid format starting with iqn, eui, or naa"))
	} else if !validISCSIName(i.IQN) {
		errs = append(errs, field.Invalid(path.Child("iqn"), i.IQN, "must be valid format"))
	}
	if i.Lun < 0 || i.Lun > 255 {
		errs = append(errs, field.Invalid(path.Child("lun"), i.Lun, validation.InclusiveRangeError(0, 255)))
	}
	if (i.DiscoveryCHAPAuth || i.SessionCHAPAuth) && i.SecretRef == nil {
		errs = append(errs, field.Required(path.Child("secretRef"), ""))
	}
	if n := i.InitiatorName; n != nil && (!hasISCSIPrefix(*n) || !validISCSIName(*n)) {
		errs = append(errs, field.Invalid(path.Child("initiatorname"), *n, "must be valid format"))
	}
	return errs
}

func hasISCSIPrefix(name string) bool {
	return strings.HasPrefix(name, "iqn") || strings.HasPrefix(name, "eui") || strings.HasPrefix(name, "naa")
}

// validISCSIName accepts the three forms of RFC 3720: iqn.yyyy-mm.domain:name, eui. with 16, and naa. with 32
// characters.
func validISCSIName(name string) bool {
	kind, rest, ok := strings.Cut(name, ".")
	switch {
	case !ok:
		return false
	case kind == "iqn":
		date, rest, ok := strings.Cut(rest, ".")
		domain, unique, named := strings.Cut(rest, ":")
		return ok && validYearMonth(date) && domain != "" && named && unique != "" &&
			!strings.ContainsAny(unique, ",;*&$| \t\n\r\f\v")
	case kind == "eui":
		return len(rest) == 16 && isAlnum(rest)
	}
	return len(rest) == 32 && isAlnum(rest)
}

// validYearMonth accepts the form dddd-dd.
func validYearMonth(s string) bool {
	return len(s) == 7 && s[4] == '-' && strings.Trim(s[:4]+s[5:], "0123456789") == ""
}

func isAlnum(s string) bool {
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

func validateFlocker(f *corev1.FlockerVolumeSource, path *field.Path) (errs field.ErrorList) {
	switch {
	case f.DatasetName == "" && f.DatasetUUID == "":
		errs = append(errs, field.Required(path, "one of datasetName and datasetUUID is required"))
	case f.DatasetName != "" && f.DatasetUUID != "":
		errs = append(errs, field.Invalid(path, "resource",
			"datasetName and datasetUUID can not be specified simultaneously"))
	}
	if strings.Contains(f.DatasetName, "/") {
		errs = append(errs, field.Invalid(path.Child("datasetName"), f.DatasetName, "must not contain '/'"))
	}
	return errs
}

func validateQuobyte(q *corev1.QuobyteVolumeSource, path *field.Path) (errs field.ErrorList) {
	const form = "must be a host:port pair or multiple pairs separated by commas"
	switch {
	case q.Registry == "":
		errs = append(errs, field.Required(path.Child("registry"), form))
	case len(q.Tenant) >= 65:
		errs = append(errs, field.Required(path.Child("tenant"),
			"must be a UUID and may not exceed a length of 64 characters"))
	default:
		for pair := range strings.SplitSeq(q.Registry, ",") {
			if _, _, err := net.SplitHostPort(pair); err != nil {
				errs = append(errs, field.Invalid(path.Child("registry"), q.Registry, form))
			}
		}
	}
	return append(errs, fieldcheck.Required(path.Child("volume"), q.Volume, "")...)
}

func validateFC(f *corev1.FCVolumeSource, path *field.Path) (errs field.ErrorList) {
	names := path.Child("targetWWNs")
	switch {
	case len(f.TargetWWNs) == 0 && len(f.WWIDs) == 0:
		errs = append(errs, field.Required(names, "must specify either targetWWNs or wwids, but not both"))
	case len(f.TargetWWNs) != 0 && len(f.WWIDs) != 0:
		errs = append(errs, field.Invalid(names, f.TargetWWNs,
			"targetWWNs and wwids can not be specified simultaneously"))
	}
	switch {
	case len(f.TargetWWNs) == 0:
	case f.Lun == nil:
		errs = append(errs, field.Required(path.Child("lun"), "lun is required if targetWWNs is specified"))
	case *f.Lun < 0 || *f.Lun > 255:
		errs = append(errs, field.Invalid(path.Child("lun"), f.Lun, validation.InclusiveRangeError(0, 255)))
	}
	return errs
}

func validateFlex(f *corev1.FlexVolumeSource, path *field.Path) field.ErrorList {
	errs := fieldcheck.Required(path.Child("driver"), f.Driver, "")
	for _, key := range fieldcheck.SortedKeys(f.Options) {
		domain, _, _ := strings.Cut(key, "/")
		domain = "." + strings.ToLower(domain)
		if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
			errs = append(errs, field.Invalid(path.Child("options").Key(key), key,
				"kubernetes.io and k8s.io namespaces are reserved"))
		}
	}
	return errs
}

func validateAzureDisk(d *corev1.AzureDiskVolumeSource, path *field.Path) field.ErrorList {
	errs := fieldcheck.Required(path.Child("diskName"), d.DiskName, "")
	errs = append(errs, fieldcheck.Required(path.Child("diskURI"), d.DataDiskURI, "")...)
	if d.CachingMode != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("cachingMode"), *d.CachingMode,
			corev1.AzureDataDiskCachingNone, corev1.AzureDataDiskCachingReadOnly,
			corev1.AzureDataDiskCachingReadWrite)...)
	}
	if d.Kind == nil {
		return errs
	}
	errs = append(errs, fieldcheck.OneOf(path.Child("kind"), *d.Kind,
		corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk)...)
	prefix, form := "https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
	if *d.Kind == corev1.AzureManagedDisk {
		prefix, form = "/subscriptions/",
			"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	}
	if !strings.HasPrefix(d.DataDiskURI, prefix) {
		errs = append(errs, field.NotSupported(path.Child("diskURI"), d.DataDiskURI, []string{form}))
	}
	return errs
}

func validateStorageOS(o *corev1.StorageOSVolumeSource, path *field.Path) (errs field.ErrorList) {
	errs = fieldcheck.Name(path.Child("volumeName"), o.VolumeName)
	if o.VolumeNamespace != "" {
		errs = append(errs, fieldcheck.LabelName(path.Child("volumeNamespace"), o.VolumeNamespace)...)
	}
	return append(errs, validateSecretRef(o.SecretRef, path.Child("secretRef"))...)
}

func validateCSI(c *corev1.CSIVolumeSource, path *field.Path) field.ErrorList {
	driver := path.Child("driver")
	errs := fieldcheck.Required(driver, c.Driver, "")
	if len(c.Driver) > 63 {
		errs = append(errs, field.TooLong(driver, c.Driver, 63))
	}
	errs = append(errs, fieldcheck.Invalid(driver, c.Driver,
		validation.IsDNS1123Subdomain(strings.ToLower(c.Driver)))...)
	ref := c.NodePublishSecretRef
	switch {
	case ref == nil:
	case ref.Name == "":
		errs = append(errs, field.Required(path.Child("nodePublishSecretRef", "name"), ""))
	default:
		errs = append(errs, fieldcheck.ObjectName(path.Child("name"), ref.Name, false)...)
	}
	return errs
}
