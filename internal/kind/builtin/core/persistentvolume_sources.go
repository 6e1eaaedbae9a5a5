package core

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// volumeSources collects the errors of the sources of a volume: it validates the first source, and rejects further
// ones.
type volumeSources struct {
	path  *field.Path // of the spec
	count int
	errs  field.ErrorList
}

// add validates a source if it is set.
func (s *volumeSources) add(set bool, name string, validate func(*field.Path) field.ErrorList) {
	switch {
	case !set:
	case s.count > 0:
		s.errs = append(s.errs, field.Forbidden(s.path.Child(name), "may not specify more than 1 volume type"))
	default:
		s.count++
		s.errs = append(s.errs, validate(s.path.Child(name))...)
	}
}

// addPod validates a source that pods have too if it is set.
func (s *volumeSources) addPod(set bool, name string, source corev1.VolumeSource) {
	s.add(set, name, func(*field.Path) field.ErrorList { return validatePodSource(source, s.path) })
}

// validatePodSource validates a source with the rules for the volumes of pods. path is the parent of the source.
func validatePodSource(source corev1.VolumeSource, path *field.Path) field.ErrorList {
	volumes := []corev1.Volume{{Name: "volume", VolumeSource: source}}
	return podErrors(corev1.PodSpec{Volumes: volumes}, "spec.volumes[0]", path)
}

// podErrors validates a part of a pod spec. It returns the errors of the field from and the fields below, with from
// replaced by path.
func podErrors(spec corev1.PodSpec, from string, path *field.Path) (errs field.ErrorList) {
	for _, e := range podspec.ValidateTemplate(&corev1.PodTemplateSpec{Spec: spec}, nil, nil) {
		if below, ok := strings.CutPrefix(e.Field, from); ok {
			e.Field = path.String() + below
			errs = append(errs, e)
		}
	}
	return errs
}

// validateVolumeSources validates the source of a volume, which must have exactly one. name is the name of the volume,
// and placed reports whether it has a node affinity.
func validateVolumeSources(spec *corev1.PersistentVolumeSpec, name string, placed bool,
	path *field.Path) field.ErrorList {
	s := &volumeSources{path: path}
	addOldVolumeSources(s, spec)
	addNetworkVolumeSources(s, spec, name)
	addDiskVolumeSources(s, spec)
	s.add(spec.Local != nil, "local", func(at *field.Path) field.ErrorList {
		errs := fieldcheck.Required(at.Child("path"), spec.Local.Path, "")
		errs = append(errs, fieldcheck.NoBacksteps(at.Child("path"), spec.Local.Path)...)
		if !placed {
			errs = append(errs, field.Required(path.Child("nodeAffinity"), "Local volume requires node affinity"))
		}
		return errs
	})
	s.add(spec.StorageOS != nil, "storageos", func(at *field.Path) field.ErrorList {
		return validateStorageOSVolume(spec.StorageOS, at)
	})
	s.add(spec.CSI != nil, "csi", func(at *field.Path) field.ErrorList { return validateCSIVolume(spec.CSI, at) })
	if s.count == 0 {
		s.errs = append(s.errs, field.Required(path, "must specify a volume type"))
	}
	if recyclesRoot(spec) {
		s.errs = append(s.errs, field.Forbidden(path.Child("persistentVolumeReclaimPolicy"),
			"may not be 'recycle' for a hostPath mount of '/'"))
	}
	return s.errs
}

func addOldVolumeSources(s *volumeSources, spec *corev1.PersistentVolumeSpec) {
	s.addPod(spec.HostPath != nil, "hostPath", corev1.VolumeSource{HostPath: spec.HostPath})
	s.addPod(spec.GCEPersistentDisk != nil, "gcePersistentDisk",
		corev1.VolumeSource{GCEPersistentDisk: spec.GCEPersistentDisk})
	s.addPod(spec.AWSElasticBlockStore != nil, "awsElasticBlockStore",
		corev1.VolumeSource{AWSElasticBlockStore: spec.AWSElasticBlockStore})
}

// addNetworkVolumeSources validates network storage.
func addNetworkVolumeSources(s *volumeSources, spec *corev1.PersistentVolumeSpec, name string) {
	s.add(spec.Glusterfs != nil, "glusterfs", func(at *field.Path) field.ErrorList {
		return validateGlusterfsVolume(spec.Glusterfs, at)
	})
	s.addPod(spec.Flocker != nil, "flocker", corev1.VolumeSource{Flocker: spec.Flocker})
	s.addPod(spec.NFS != nil, "nfs", corev1.VolumeSource{NFS: spec.NFS})
	s.add(spec.RBD != nil, "rbd", func(at *field.Path) field.ErrorList {
		return append(requireMonitors(spec.RBD.CephMonitors, at),
			fieldcheck.Required(at.Child("image"), spec.RBD.RBDImage, "")...)
	})
	s.addPod(spec.Quobyte != nil, "quobyte", corev1.VolumeSource{Quobyte: spec.Quobyte})
	cephFS := "cephfs"
	if s.count > 0 {
		cephFS = "cephFS" // Kubernetes' spelling in the error of a further source
	}
	s.add(spec.CephFS != nil, cephFS, func(at *field.Path) field.ErrorList {
		return requireMonitors(spec.CephFS.Monitors, at)
	})
	s.add(spec.ISCSI != nil, "iscsi", func(at *field.Path) field.ErrorList {
		return validateISCSIVolume(spec.ISCSI, name, at)
	})
	s.add(spec.Cinder != nil, "cinder", func(at *field.Path) field.ErrorList {
		errs := fieldcheck.Required(at.Child("volumeID"), spec.Cinder.VolumeID, "")
		if ref := spec.Cinder.SecretRef; ref != nil {
			errs = append(errs, fieldcheck.Required(at.Child("secretRef", "name"), ref.Name, "")...)
			errs = append(errs, fieldcheck.Required(at.Child("secretRef", "namespace"), ref.Namespace, "")...)
		}
		return errs
	})
	s.addPod(spec.FC != nil, "fc", corev1.VolumeSource{FC: spec.FC})
}

// addDiskVolumeSources validates disks of specific vendors.
func addDiskVolumeSources(s *volumeSources, spec *corev1.PersistentVolumeSpec) {
	if f := spec.FlexVolume; f != nil { // validated even if it is not the first source
		s.count++
		s.errs = append(s.errs, validatePodSource(corev1.VolumeSource{
			FlexVolume: &corev1.FlexVolumeSource{Driver: f.Driver, Options: f.Options}}, s.path)...)
	}
	s.add(spec.AzureFile != nil, "azureFile", func(at *field.Path) field.ErrorList {
		errs := fieldcheck.Required(at.Child("secretName"), spec.AzureFile.SecretName, "")
		errs = append(errs, fieldcheck.Required(at.Child("shareName"), spec.AzureFile.ShareName, "")...)
		if namespace := spec.AzureFile.SecretNamespace; namespace != nil {
			errs = append(errs, fieldcheck.Required(at.Child("secretNamespace"), *namespace, "")...)
		}
		return errs
	})
	s.addPod(spec.VsphereVolume != nil, "vsphereVolume", corev1.VolumeSource{VsphereVolume: spec.VsphereVolume})
	s.addPod(spec.PhotonPersistentDisk != nil, "photonPersistentDisk",
		corev1.VolumeSource{PhotonPersistentDisk: spec.PhotonPersistentDisk})
	s.addPod(spec.PortworxVolume != nil, "portworxVolume", corev1.VolumeSource{PortworxVolume: spec.PortworxVolume})
	s.addPod(spec.AzureDisk != nil, "azureDisk", corev1.VolumeSource{AzureDisk: spec.AzureDisk})
	s.add(spec.ScaleIO != nil, "scaleIO", func(at *field.Path) field.ErrorList {
		errs := fieldcheck.Required(at.Child("gateway"), spec.ScaleIO.Gateway, "")
		errs = append(errs, fieldcheck.Required(at.Child("system"), spec.ScaleIO.System, "")...)
		return append(errs, fieldcheck.Required(at.Child("volumeName"), spec.ScaleIO.VolumeName, "")...)
	})
}

func requireMonitors(monitors []string, path *field.Path) field.ErrorList {
	if len(monitors) == 0 {
		return field.ErrorList{field.Required(path.Child("monitors"), "")}
	}
	return nil
}

func validateGlusterfsVolume(g *corev1.GlusterfsPersistentVolumeSource, path *field.Path) field.ErrorList {
	errs := fieldcheck.Required(path.Child("endpoints"), g.EndpointsName, "")
	errs = append(errs, fieldcheck.Required(path.Child("path"), g.Path, "")...)
	at, namespace := path.Child("endpointsNamespace"), g.EndpointsNamespace
	switch {
	case namespace == nil:
		return errs
	case *namespace == "":
		return append(errs, field.Invalid(at, "",
			"if the endpointnamespace is set, it must be a valid namespace name"))
	}
	return append(errs, fieldcheck.Invalid(at, *namespace, apivalidation.ValidateNamespaceName(*namespace, false))...)
}

func validateISCSIVolume(i *corev1.ISCSIPersistentVolumeSource, name string, path *field.Path) field.ErrorList {
	errs := fieldcheck.Required(path.Child("targetPortal"), i.TargetPortal, "")
	if i.InitiatorName != nil && len(name+":"+i.TargetPortal) > 64 {
		errs = append(errs, field.Invalid(path.Child("targetportal"), i.TargetPortal,
			"Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName "+
				"is specified."))
	}
	if i.IQN == "" {
		errs = append(errs, field.Required(path.Child("iqn"), ""))
	} else if !validISCSIName(i.IQN) {
		errs = append(errs, field.Invalid(path.Child("iqn"), i.IQN, "must be valid format"))
	}
	if i.Lun < 0 || i.Lun > 255 {
		errs = append(errs, field.Invalid(path.Child("lun"), i.Lun, validation.InclusiveRangeError(0, 255)))
	}
	if (i.DiscoveryCHAPAuth || i.SessionCHAPAuth) && i.SecretRef == nil {
		errs = append(errs, field.Required(path.Child("secretRef"), ""))
	}
	if i.SecretRef != nil {
		errs = append(errs, fieldcheck.Required(path.Child("secretRef", "name"), i.SecretRef.Name, "")...)
	}
	if i.InitiatorName != nil && !validISCSIName(*i.InitiatorName) {
		errs = append(errs, field.Invalid(path.Child("initiatorname"), *i.InitiatorName, "must be valid format"))
	}
	return errs
}

// The names of RFC 3720: a domain with the month in which it was registered, and two forms of addresses. As in
// Kubernetes, any character may follow the type of an address.
var (
	iqnName = regexp.MustCompile(`iqn\.\d{4}-\d{2}\.[[:alnum:].-]+:[^,;*&$|\s]+$`)
	euiName = regexp.MustCompile(`^eui.[[:alnum:]]{16}$`)
	naaName = regexp.MustCompile(`^naa.[[:alnum:]]{32}$`)
)

func validISCSIName(name string) bool {
	return strings.HasPrefix(name, "iqn") && iqnName.MatchString(name) ||
		euiName.MatchString(name) || naaName.MatchString(name)
}

func validateStorageOSVolume(o *corev1.StorageOSPersistentVolumeSource, path *field.Path) field.ErrorList {
	errs := fieldcheck.Name(path.Child("volumeName"), o.VolumeName)
	if o.VolumeNamespace != "" {
		errs = append(errs, fieldcheck.LabelName(path.Child("volumeNamespace"), o.VolumeNamespace)...)
	}
	if ref := o.SecretRef; ref != nil {
		errs = append(errs, fieldcheck.Required(path.Child("secretRef", "name"), ref.Name, "")...)
		errs = append(errs, fieldcheck.Required(path.Child("secretRef", "namespace"), ref.Namespace, "")...)
	}
	return errs
}

func validateCSIVolume(c *corev1.CSIPersistentVolumeSource, path *field.Path) field.ErrorList {
	errs := ValidateCSIDriverName(path.Child("driver"), c.Driver)
	errs = append(errs, fieldcheck.Required(path.Child("volumeHandle"), c.VolumeHandle, "")...)
	for _, secret := range []struct {
		name string
		ref  *corev1.SecretReference
	}{
		{"controllerPublishSecretRef", c.ControllerPublishSecretRef},
		{"controllerExpandSecretRef", c.ControllerExpandSecretRef},
		{"nodePublishSecretRef", c.NodePublishSecretRef},
		{"nodeExpandSecretRef", c.NodeExpandSecretRef},
	} {
		if secret.ref != nil {
			errs = append(errs, validateSecretReference(secret.ref, path.Child(secret.name))...)
		}
	}
	return errs
}

func validateSecretReference(ref *corev1.SecretReference, path *field.Path) (errs field.ErrorList) {
	if ref.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else {
		errs = append(errs, fieldcheck.Subdomain(path.Child("name"), ref.Name)...)
	}
	return append(errs, fieldcheck.Name(path.Child("namespace"), ref.Namespace)...)
}

// ValidateCSIDriverName validates the name of a CSI driver: a subdomain of any case, of at most 63 characters.
func ValidateCSIDriverName(path *field.Path, name string) (errs field.ErrorList) {
	const longest = 63
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(name) > longest {
		errs = append(errs, field.TooLong(path, "", longest))
	}
	return append(errs, fieldcheck.Invalid(path, name, validation.IsDNS1123Subdomain(strings.ToLower(name)))...)
}
