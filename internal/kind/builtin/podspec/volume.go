package podspec

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateVolumes validates the volumes of a pod, and stores the valid ones in the scope for the validation
// of mounts.
func validateVolumes(s *podScope, path *field.Path) (errs field.ErrorList) {
	volumes := s.spec.Volumes
	if len(volumes) == 0 {
		return nil
	}
	s.volumes = make(map[string]*corev1.VolumeSource, len(volumes))
	for i := range volumes {
		v, at := &volumes[i], path.Index(i)
		found := validateVolumeSource(s, v, at)
		found = append(found, fieldcheck.Name(at.Child("name"), v.Name)...)
		if _, ok := s.volumes[v.Name]; ok {
			found = append(found, field.Duplicate(at.Child("name"), v.Name))
		}
		if len(found) == 0 {
			s.volumes[v.Name] = &v.VolumeSource
		}
		errs = append(errs, found...)
		errs = append(errs, validateGeneratedClaim(s, v, at)...)
	}
	return errs
}

// validateGeneratedClaim rejects a volume that refers to the claim of an ephemeral volume of the same pod.
func validateGeneratedClaim(s *podScope, v *corev1.Volume, path *field.Path) field.ErrorList {
	if v.PersistentVolumeClaim == nil || !s.isPod() || s.meta.Name == "" {
		return nil
	}
	claim := v.PersistentVolumeClaim.ClaimName
	makes := func(o corev1.Volume) bool { return o.Ephemeral != nil && s.meta.Name+"-"+o.Name == claim }
	if !slices.ContainsFunc(s.spec.Volumes, makes) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("persistentVolumeClaim", "claimName"), claim,
		"must not reference a PVC that gets created for an ephemeral volume")}
}

// sources counts the sources of one volume and rejects all but the first.
type sources struct {
	path  *field.Path
	count int
	errs  field.ErrorList
}

// add validates a source if it is set. Names follow Kubernetes' errors, which differ from the JSON names for
// some sources.
func (s *sources) add(set bool, name string, validate func(*field.Path) field.ErrorList) {
	switch {
	case !set:
	case s.count > 0:
		s.errs = append(s.errs, field.Forbidden(s.path.Child(name), "may not specify more than 1 volume type"))
	default:
		s.count++
		s.errs = append(s.errs, validate(s.path.Child(name))...)
	}
}

// validateVolumeSource validates the source of a volume, of which there must be exactly one.
func validateVolumeSource(s *podScope, v *corev1.Volume, path *field.Path) field.ErrorList {
	found := &sources{path: path}
	found.add(v.EmptyDir != nil, "emptyDir", func(at *field.Path) field.ErrorList {
		return validateEmptyDir(v.EmptyDir, at)
	})
	found.add(v.HostPath != nil, "hostPath", func(at *field.Path) field.ErrorList {
		return validateHostPath(v.HostPath, at)
	})
	addOldSources(found, v)
	found.add(v.Secret != nil, "secret", func(at *field.Path) field.ErrorList {
		return validateKeyFiles("secretName", v.Secret.SecretName, v.Secret.DefaultMode, v.Secret.Items, at)
	})
	addNetworkSources(found, v)
	found.add(v.PersistentVolumeClaim != nil, "persistentVolumeClaim", func(at *field.Path) field.ErrorList {
		return fieldcheck.Required(at.Child("claimName"), v.PersistentVolumeClaim.ClaimName, "")
	})
	found.add(v.DownwardAPI != nil, "downwardAPI", func(at *field.Path) field.ErrorList {
		return append(fieldcheck.FileMode(at.Child("defaultMode"), v.DownwardAPI.DefaultMode),
			validateDownwardFiles(v.DownwardAPI.Items, at)...)
	})
	found.add(v.ConfigMap != nil, "configMap", func(at *field.Path) field.ErrorList {
		return validateKeyFiles("name", v.ConfigMap.Name, v.ConfigMap.DefaultMode, v.ConfigMap.Items, at)
	})
	found.add(v.Projected != nil, "projected", func(at *field.Path) field.ErrorList {
		return validateProjected(s, v.Projected, at)
	})
	addDiskSources(found, v)
	found.add(v.CSI != nil, "csi", func(at *field.Path) field.ErrorList { return validateCSI(v.CSI, at) })
	found.add(v.Ephemeral != nil, "ephemeral", func(at *field.Path) field.ErrorList {
		return validateEphemeralVolume(s, v, at)
	})
	found.add(v.Image != nil, "image", func(at *field.Path) field.ErrorList {
		return validateImageVolume(s, v.Image, at)
	})
	if found.count == 0 {
		found.errs = append(found.errs, field.Required(path, "must specify a volume type"))
	}
	return found.errs
}

func validateEmptyDir(d *corev1.EmptyDirVolumeSource, path *field.Path) (errs field.ErrorList) {
	if d.SizeLimit != nil && d.SizeLimit.Sign() < 0 {
		errs = append(errs, field.Forbidden(path.Child("sizeLimit"),
			"SizeLimit field must be a valid resource quantity"))
	}
	if d.Mode != nil && (*d.Mode < 0 || *d.Mode > 0o1777) {
		errs = append(errs, field.Invalid(path.Child("mode"), *d.Mode,
			"must be a number between 0 and 01777 (octal), both inclusive"))
	}
	return errs
}

func validateHostPath(h *corev1.HostPathVolumeSource, path *field.Path) field.ErrorList {
	if h.Path == "" {
		return field.ErrorList{field.Required(path.Child("path"), "")}
	}
	errs := fieldcheck.NoBacksteps(path.Child("path"), h.Path)
	if h.Type != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("type"), *h.Type, corev1.HostPathUnset, corev1.HostPathBlockDev,
			corev1.HostPathCharDev, corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate, corev1.HostPathFile,
			corev1.HostPathFileOrCreate, corev1.HostPathSocket)...)
	}
	return errs
}

// validateKeyFiles validates a secret or a config map that is mounted as files.
func validateKeyFiles(nameField, name string, mode *int32, items []corev1.KeyToPath, path *field.Path) field.ErrorList {
	errs := fieldcheck.Required(path.Child(nameField), name, "")
	errs = append(errs, fieldcheck.FileMode(path.Child("defaultMode"), mode)...)
	for i := range items {
		errs = append(errs, validateKeyToPath(&items[i], path.Child("items").Index(i))...)
	}
	return errs
}

func validateKeyToPath(k *corev1.KeyToPath, path *field.Path) field.ErrorList {
	errs := fieldcheck.Required(path.Child("key"), k.Key, "")
	errs = append(errs, fieldcheck.Required(path.Child("path"), k.Path, "")...)
	errs = append(errs, fieldcheck.FilePath(path.Child("path"), k.Path)...)
	return append(errs, fieldcheck.FileMode(path.Child("mode"), k.Mode)...)
}

// validateDownwardFiles reports errors below the volume instead of the file, as Kubernetes does.
func validateDownwardFiles(files []corev1.DownwardAPIVolumeFile, path *field.Path) (errs field.ErrorList) {
	for i := range files {
		f := &files[i]
		errs = append(errs, fieldcheck.Required(path.Child("path"), f.Path, "")...)
		errs = append(errs, fieldcheck.FilePath(path.Child("path"), f.Path)...)
		switch {
		case f.FieldRef != nil:
			errs = append(errs, validateFieldRef(f.FieldRef, fileFieldPaths, path.Child("fieldRef"))...)
			if f.ResourceFieldRef != nil {
				errs = append(errs,
					field.Invalid(path, "resource",
						"fieldRef and resourceFieldRef can not be specified simultaneously"))
			}
		case f.ResourceFieldRef != nil:
			errs = append(errs, validateResourceFieldRef(f.ResourceFieldRef, path.Child("resourceFieldRef"), true)...)
		default:
			errs = append(errs, field.Required(path, "one of fieldRef and resourceFieldRef is required"))
		}
		errs = append(errs, fieldcheck.FileMode(path.Child("mode"), f.Mode)...)
	}
	return errs
}

// validateImageVolume allows a template to omit the reference, which is set when a pod is created.
func validateImageVolume(s *podScope, image *corev1.ImageVolumeSource, path *field.Path) (errs field.ErrorList) {
	if s.isPod() {
		errs = fieldcheck.Required(path.Child("reference"), image.Reference, "")
	}
	return append(errs, fieldcheck.Choice(path.Child("pullPolicy"), image.PullPolicy,
		corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
}

// validateEphemeralVolume validates the claim template and the name of the resulting claim.
func validateEphemeralVolume(s *podScope, v *corev1.Volume, path *field.Path) (errs field.ErrorList) {
	if v.Ephemeral.VolumeClaimTemplate == nil {
		errs = append(errs, field.Required(path.Child("volumeClaimTemplate"), ""))
	} else {
		errs = append(errs, validateClaimTemplate(v.Ephemeral.VolumeClaimTemplate,
			path.Child("volumeClaimTemplate"))...)
	}
	if !s.isPod() || s.meta.Name == "" || v.Name == "" {
		return errs
	}
	claim := s.meta.Name + "-" + v.Name
	for _, e := range fieldcheck.ObjectName(path, claim, false) {
		errs = append(errs, field.Invalid(path.Child("name"), v.Name, fmt.Sprintf("PVC name %q: %v", claim, e.Detail)))
	}
	return errs
}
