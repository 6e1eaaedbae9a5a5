package podspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateMounts validates the volume mounts of a container.
func validateMounts(s *podScope, c *corev1.Container, path *field.Path) (errs field.ErrorList) {
	for i := range c.VolumeMounts {
		m, at := &c.VolumeMounts[i], path.Index(i)
		volume, known := s.volumes[m.Name]
		errs = append(errs, fieldcheck.Required(at.Child("name"), m.Name, "")...)
		if !known {
			errs = append(errs, field.NotFound(at.Child("name"), m.Name))
		}
		errs = append(errs, fieldcheck.Required(at.Child("mountPath"), m.MountPath, "")...)
		if slices.ContainsFunc(c.VolumeMounts[:i], func(o corev1.VolumeMount) bool {
			return o.MountPath == m.MountPath
		}) {
			errs = append(errs, field.Invalid(at.Child("mountPath"), m.MountPath, "must be unique"))
		}
		if slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == m.Name }) {
			errs = append(errs, field.Invalid(at.Child("name"), m.Name, "must not already exist in volumeDevices"))
		}
		if slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool {
			return d.DevicePath == m.MountPath
		}) {
			errs = append(errs, field.Invalid(at.Child("mountPath"), m.MountPath,
				"must not already exist as a path in volumeDevices"))
		}
		if m.SubPath != "" || m.SubPathExpr != "" {
			errs = append(errs, validateSubPaths(m, path, at)...)
		}
		if m.MountPropagation != nil {
			errs = append(errs, validatePropagation(*m.MountPropagation, c, path.Child("mountPropagation"))...)
		}
		if m.RecursiveReadOnly != nil {
			errs = append(errs, validateRecursiveReadOnly(m, path.Child("recursiveReadOnly"))...)
		}
		if known && volume.Image != nil {
			errs = append(errs, validateImageMount(m, at)...)
		}
		for n, option := range m.BindMountOptions {
			errs = append(errs, fieldcheck.OneOf(at.Child("bindMountOptions").Index(n), option, "nodev", "noexec",
				"nosuid")...)
		}
	}
	return errs
}

// validateImageMount validates a mount of an image volume, which supports no options.
func validateImageMount(m *corev1.VolumeMount, path *field.Path) (errs field.ErrorList) {
	if len(m.BindMountOptions) > 0 {
		errs = append(errs, field.Forbidden(path.Child("bindMountOptions"), "not allowed in image volume sources"))
	}
	return errs
}

// validateSubPaths reports errors below the list instead of the mount, as Kubernetes does.
func validateSubPaths(m *corev1.VolumeMount, list, at *field.Path) (errs field.ErrorList) {
	if m.SubPath != "" {
		errs = append(errs, fieldcheck.RelativePath(list.Child("subPath"), m.SubPath)...)
	}
	if m.SubPathExpr == "" {
		return errs
	}
	if m.SubPath != "" {
		errs = append(errs, field.Invalid(at.Child("subPathExpr"), m.SubPathExpr,
			"subPathExpr and subPath are mutually exclusive"))
	}
	return append(errs, fieldcheck.RelativePath(list.Child("subPathExpr"), m.SubPathExpr)...)
}

func validatePropagation(mode corev1.MountPropagationMode, c *corev1.Container, path *field.Path) field.ErrorList {
	errs := fieldcheck.OneOf(path, mode, corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer,
		corev1.MountPropagationNone)
	if mode == corev1.MountPropagationBidirectional && !isPrivileged(c.SecurityContext) {
		errs = append(errs, field.Forbidden(path,
			"Bidirectional mount propagation is available only to privileged containers"))
	}
	return errs
}

func isPrivileged(c *corev1.SecurityContext) bool {
	return c != nil && c.Privileged != nil && *c.Privileged
}

func validateRecursiveReadOnly(m *corev1.VolumeMount, path *field.Path) (errs field.ErrorList) {
	switch *m.RecursiveReadOnly {
	case corev1.RecursiveReadOnlyDisabled:
	case corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible:
		if !m.ReadOnly {
			errs = append(errs, field.Forbidden(path, "may only be specified when readOnly is true"))
		}
		if m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
			errs = append(errs, field.Forbidden(path,
				"may only be specified when mountPropagation is None or not specified"))
		}
	default:
		errs = append(errs, fieldcheck.OneOf(path, *m.RecursiveReadOnly,
			corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible)...)
	}
	return errs
}

// validateDevices validates the block devices of a container, which must be claims.
func validateDevices(s *podScope, c *corev1.Container, path *field.Path) (errs field.ErrorList) {
	for i := range c.VolumeDevices {
		d, at := &c.VolumeDevices[i], path.Index(i)
		errs = append(errs, fieldcheck.Required(at.Child("name"), d.Name, "")...)
		if d.Name != "" && slices.ContainsFunc(c.VolumeDevices[:i], func(o corev1.VolumeDevice) bool {
			return o.Name == d.Name
		}) {
			errs = append(errs, field.Invalid(at.Child("name"), d.Name, "must be unique"))
		}
		if v, ok := s.volumes[d.Name]; !ok {
			errs = append(errs, field.NotFound(at.Child("name"), d.Name))
		} else if v.PersistentVolumeClaim == nil && v.Ephemeral == nil {
			errs = append(errs, field.Invalid(at.Child("name"), d.Name,
				"can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"))
		}
		errs = append(errs, validateDevicePath(c, i, at)...)
	}
	return errs
}

func validateDevicePath(c *corev1.Container, i int, path *field.Path) (errs field.ErrorList) {
	d, at := &c.VolumeDevices[i], path.Child("devicePath")
	errs = fieldcheck.Required(at, d.DevicePath, "")
	if slices.ContainsFunc(c.VolumeDevices[:i], func(o corev1.VolumeDevice) bool {
		return o.DevicePath == d.DevicePath
	}) {
		errs = append(errs, field.Invalid(at, d.DevicePath, "must be unique"))
	}
	if fieldcheck.NoBacksteps(at, d.DevicePath) != nil {
		errs = append(errs, field.Invalid(at, d.DevicePath, "can not contain backsteps ('..')"))
	}
	if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == d.Name }) {
		errs = append(errs, field.Invalid(path.Child("name"), d.Name, "must not already exist in volumeMounts"))
	}
	if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == d.DevicePath }) {
		errs = append(errs, field.Invalid(at, d.DevicePath, "must not already exist as a path in volumeMounts"))
	}
	return errs
}
