package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// Seccomp and AppArmor profiles are fields. The annotations that preceded the fields are still validated, and
// must be consistent with the fields.

func validateSeccomp(p *corev1.SeccompProfile, path *field.Path) (errs field.ErrorList) {
	if p == nil {
		return nil
	}
	if p.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "type is required when seccompProfile is set"))
	} else {
		errs = append(errs, fieldcheck.OneOf(path.Child("type"), p.Type, corev1.SeccompProfileTypeLocalhost,
			corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)...)
	}
	local := path.Child("localhostProfile")
	switch {
	case p.Type != corev1.SeccompProfileTypeLocalhost:
		if p.LocalhostProfile != nil {
			errs = append(errs, field.Invalid(local, Layout(p), "can only be set when seccomp type is Localhost"))
		}
	case p.LocalhostProfile == nil:
		errs = append(errs, field.Required(local, "must be set when seccomp type is Localhost"))
	default:
		errs = append(errs, fieldcheck.RelativePath(local, *p.LocalhostProfile)...)
	}
	return errs
}

// maxProfilePath is the maximum length of a path on Linux, without the terminating null.
const maxProfilePath = 4095

func validateAppArmor(p *corev1.AppArmorProfile, path *field.Path) (errs field.ErrorList) {
	if p == nil {
		return nil
	}
	local := path.Child("localhostProfile")
	switch p.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		switch name := p.LocalhostProfile; {
		case name == nil || *name == "":
			errs = append(errs, field.Required(local, "must be set when AppArmor type is Localhost"))
		case strings.TrimSpace(*name) != *name:
			errs = append(errs, field.Invalid(local, *name, "must not be padded with whitespace"))
		}
		if name := p.LocalhostProfile; name != nil && len(*name) > maxProfilePath {
			errs = append(errs, field.TooLong(local, *name, maxProfilePath))
		}
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if p.LocalhostProfile != nil {
			errs = append(errs, field.Invalid(local, p.LocalhostProfile,
				"can only be set when AppArmor type is Localhost"))
		}
	case "":
		errs = append(errs, field.Required(path.Child("type"), "type is required when appArmorProfile is set"))
	default:
		errs = append(errs, fieldcheck.OneOf(path.Child("type"), p.Type, corev1.AppArmorProfileTypeLocalhost,
			corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)...)
	}
	return errs
}

// validatePodAnnotations validates the annotations of a pod or a template that have a meaning in Kubernetes.
func validatePodAnnotations(annotations map[string]string, spec *corev1.PodSpec,
	path *field.Path) (errs field.ErrorList) {
	if len(annotations) == 0 {
		return nil
	}
	if value, mirror := annotations[corev1.MirrorPodAnnotationKey]; mirror && spec.NodeName == "" {
		errs = append(errs, field.Invalid(path.Key(corev1.MirrorPodAnnotationKey), value,
			"must set spec.nodeName if mirror pod annotation is set"))
	}
	if value, ok := annotations[corev1.PodDeletionCost]; ok && !validDeletionCost(value) {
		errs = append(errs, field.Invalid(path.Key(corev1.PodDeletionCost), value, "must be a 32bit integer"))
	}
	for _, key := range fieldcheck.SortedKeys(annotations) {
		value := annotations[key]
		if key == corev1.SeccompPodAnnotationKey || strings.HasPrefix(key, corev1.SeccompContainerAnnotationKeyPrefix) {
			errs = append(errs, validateSeccompName(value, path.Child(key))...)
		}
		if name, ok := strings.CutPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix); ok {
			errs = append(errs, validateAppArmorName(value, name, spec, path.Key(key))...)
		}
	}
	return errs
}

func validateSeccompName(profile string, path *field.Path) field.ErrorList {
	switch profile {
	case corev1.SeccompProfileRuntimeDefault, corev1.DeprecatedSeccompProfileDockerDefault,
		corev1.SeccompProfileNameUnconfined:
		return nil
	}
	if file, ok := strings.CutPrefix(profile, corev1.SeccompLocalhostProfileNamePrefix); ok {
		return fieldcheck.RelativePath(path, file)
	}
	return field.ErrorList{field.Invalid(path, profile, "must be a valid seccomp profile")}
}

func validateAppArmorName(profile, container string, spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	if !hasContainer(spec.Containers, container) && !hasContainer(spec.InitContainers, container) &&
		!hasEphemeral(spec.EphemeralContainers, container) {
		errs = append(errs, field.Invalid(path, container, "container not found"))
	}
	switch {
	case profile == "", profile == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault,
		profile == corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
	case !strings.HasPrefix(profile, corev1.DeprecatedAppArmorBetaProfileNamePrefix):
		errs = append(errs, field.Invalid(path, profile, fmt.Sprintf("invalid AppArmor profile name: %q", profile)))
	}
	return errs
}

// validateProfileAnnotations checks that the old annotations and the fields are consistent.
func validateProfileAnnotations(annotations map[string]string, spec *corev1.PodSpec,
	path *field.Path) (errs field.ErrorList) {
	if len(annotations) == 0 {
		return nil
	}
	var podSeccomp *corev1.SeccompProfile
	var podAppArmor *corev1.AppArmorProfile
	if c := spec.SecurityContext; c != nil {
		podSeccomp, podAppArmor = c.SeccompProfile, c.AppArmorProfile
	}
	if value, ok := annotations[corev1.SeccompPodAnnotationKey]; ok {
		errs = append(errs, matchSeccomp(value, podSeccomp, path.Child("securityContext", "seccompProfile"))...)
	}
	eachContainer(spec, path, func(c *corev1.Container, at *field.Path) {
		var seccomp *corev1.SeccompProfile
		if c.SecurityContext != nil {
			seccomp = c.SecurityContext.SeccompProfile
		}
		if value, ok := annotations[corev1.SeccompContainerAnnotationKeyPrefix+c.Name]; ok {
			errs = append(errs, matchSeccomp(value, seccomp, at.Child("securityContext", "seccompProfile"))...)
		}
	})
	if spec.OS != nil && spec.OS.Name == corev1.Windows {
		return errs
	}
	eachContainer(spec, path, func(c *corev1.Container, at *field.Path) {
		profile := podAppArmor
		if c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
			profile = c.SecurityContext.AppArmorProfile
		}
		if value, ok := annotations[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+c.Name]; ok {
			errs = append(errs, matchAppArmor(value, profile, at.Child("securityContext", "appArmorProfile"))...)
		}
	})
	return errs
}

func matchSeccomp(value string, p *corev1.SeccompProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	file, local := strings.CutPrefix(value, corev1.SeccompLocalhostProfileNamePrefix)
	same := true
	switch p.Type {
	case corev1.SeccompProfileTypeUnconfined:
		same = value == corev1.SeccompProfileNameUnconfined
	case corev1.SeccompProfileTypeRuntimeDefault:
		same = value == corev1.SeccompProfileRuntimeDefault || value == corev1.DeprecatedSeccompProfileDockerDefault
	case corev1.SeccompProfileTypeLocalhost:
		same = local
		if local && (p.LocalhostProfile == nil || file != *p.LocalhostProfile) {
			return field.ErrorList{field.Forbidden(path.Child("localhostProfile"),
				"seccomp profile in annotation and field must match")}
		}
	}
	if same {
		return nil
	}
	return field.ErrorList{field.Forbidden(path.Child("type"), "seccomp type in annotation and field must match")}
}

func matchAppArmor(value string, p *corev1.AppArmorProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	file, local := strings.CutPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	same := true
	switch p.Type {
	case corev1.AppArmorProfileTypeUnconfined:
		same = value == corev1.DeprecatedAppArmorBetaProfileNameUnconfined
	case corev1.AppArmorProfileTypeRuntimeDefault:
		same = value == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault
	case corev1.AppArmorProfileTypeLocalhost:
		same = local
		if local && (p.LocalhostProfile == nil || file != *p.LocalhostProfile) {
			return field.ErrorList{field.Forbidden(path.Child("localhostProfile"),
				"apparmor profile in annotation and field must match")}
		}
	}
	if same {
		return nil
	}
	return field.ErrorList{field.Forbidden(path.Child("type"), "apparmor type in annotation and field must match")}
}

// validDeletionCost accepts an integer of 32 bits in canonical form: without a plus sign or leading zeros.
func validDeletionCost(s string) bool {
	var n int32
	_, err := fmt.Sscanf(s, "%d", &n)
	return err == nil && fmt.Sprint(n) == s
}
