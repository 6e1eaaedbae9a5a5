package podspec

import (
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/node/util/sysctl"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validatePodSecurity validates the security context of a pod. In Kubernetes' internal type, the fields for
// sharing host namespaces are part of it; errors use these paths.
func validatePodSecurity(s *podScope, path *field.Path) (errs field.ErrorList) {
	c := s.spec.SecurityContext
	if c == nil {
		return nil
	}
	if c.FSGroup != nil {
		errs = append(errs, fieldcheck.Invalid(path.Child("fsGroup"), *c.FSGroup,
			validation.IsValidGroupID(*c.FSGroup))...)
	}
	errs = append(errs, validateRunAs(c.RunAsUser, c.RunAsGroup, path)...)
	for i, group := range c.SupplementalGroups {
		errs = append(errs, fieldcheck.Invalid(path.Child("supplementalGroups").Index(i), group,
			validation.IsValidGroupID(group))...)
	}
	if share := s.spec.ShareProcessNamespace; share != nil && *share && s.spec.HostPID {
		errs = append(errs, field.Invalid(path.Child("shareProcessNamespace"), *share,
			"ShareProcessNamespace and HostPID cannot both be enabled"))
	}
	errs = append(errs, validateSysctls(s, c.Sysctls, path.Child("sysctls"))...)
	if p := c.FSGroupChangePolicy; p != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("fsGroupChangePolicy"), *p, corev1.FSGroupChangeAlways,
			corev1.FSGroupChangeOnRootMismatch)...)
	}
	errs = append(errs, validateSeccomp(c.SeccompProfile, path.Child("seccompProfile"))...)
	errs = append(errs, validateWindowsOptions(c.WindowsOptions, path.Child("windowsOptions"))...)
	errs = append(errs, validateAppArmor(c.AppArmorProfile, path.Child("appArmorProfile"))...)
	if p := c.SupplementalGroupsPolicy; p != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("supplementalGroupsPolicy"), *p,
			corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)...)
	}
	if p := c.SELinuxChangePolicy; p != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("seLinuxChangePolicy"), *p,
			corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive)...)
	}
	return errs
}

func validateRunAs(user, group *int64, path *field.Path) (errs field.ErrorList) {
	if user != nil {
		errs = append(errs, fieldcheck.Invalid(path.Child("runAsUser"), *user, validation.IsValidUserID(*user))...)
	}
	if group != nil {
		errs = append(errs, fieldcheck.Invalid(path.Child("runAsGroup"), *group, validation.IsValidGroupID(*group))...)
	}
	return errs
}

// maxSysctl is the maximum length of a kernel parameter's name.
const maxSysctl = 253

// sysctlName matches segments joined by dots or slashes. Source: sysctl.d(5).
var sysctlName = regexp.MustCompile("^(" + sysctlSegment + "[\\./])*" + sysctlSegment + "$")

const sysctlSegment = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"

func validateSysctls(s *podScope, sysctls []corev1.Sysctl, path *field.Path) (errs field.ErrorList) {
	for i, parameter := range sysctls {
		at := path.Index(i).Child("name")
		switch name := parameter.Name; {
		case name == "":
			errs = append(errs, field.Required(at, ""))
		case len(name) > maxSysctl || !sysctlName.MatchString(name):
			errs = append(errs, field.Invalid(at, name,
				fmt.Sprintf("must have at most %d characters and match regex %s", maxSysctl, sysctlName)))
		case slices.ContainsFunc(sysctls[:i], func(o corev1.Sysctl) bool { return o.Name == name }):
			errs = append(errs, field.Duplicate(at, name))
		}
		if s.old == nil {
			errs = append(errs, validateHostSysctl(s.spec, parameter.Name, at)...)
		}
	}
	return errs
}

// validateHostSysctl rejects parameters of namespaces that the pod shares with the host.
func validateHostSysctl(spec *corev1.PodSpec, name string, path *field.Path) field.ErrorList {
	switch namespace, _, _ := sysctl.GetNamespace(name); {
	case spec.HostNetwork && namespace == sysctl.NetNamespace:
		return field.ErrorList{field.Invalid(path, name, "may not be specified when 'hostNetwork' is true")}
	case spec.HostIPC && namespace == sysctl.IPCNamespace:
		return field.ErrorList{field.Invalid(path, name, "may not be specified when 'hostIPC' is true")}
	}
	return nil
}

// validateSecurity validates the security context of a container. Privileged containers are allowed, as in an
// API server with --allow-privileged.
func validateSecurity(s *podScope, c *corev1.SecurityContext, path *field.Path) (errs field.ErrorList) {
	if c == nil {
		return nil
	}
	errs = validateRunAs(c.RunAsUser, c.RunAsGroup, path)
	if c.ProcMount != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("procMount"), *c.ProcMount, corev1.DefaultProcMount,
			corev1.UnmaskedProcMount)...)
		if *c.ProcMount == corev1.UnmaskedProcMount && s.hostUsers() {
			errs = append(errs, field.Invalid(path.Child("procMount"), c.ProcMount,
				"`hostUsers` must be false to use `Unmasked`"))
		}
	}
	errs = append(errs, validateSeccomp(c.SeccompProfile, path.Child("seccompProfile"))...)
	errs = append(errs, validateEscalation(c, path)...)
	errs = append(errs, validateWindowsOptions(c.WindowsOptions, path.Child("windowsOptions"))...)
	return append(errs, validateAppArmor(c.AppArmorProfile, path.Child("appArmorProfile"))...)
}

// validateEscalation rejects privileges for a container that disallows privilege escalation.
func validateEscalation(c *corev1.SecurityContext, path *field.Path) (errs field.ErrorList) {
	if c.AllowPrivilegeEscalation == nil || *c.AllowPrivilegeEscalation {
		return nil
	}
	if isPrivileged(c) {
		errs = append(errs, field.Invalid(path, Layout(c),
			"cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
	}
	if c.Capabilities != nil && slices.Contains(c.Capabilities.Add, "CAP_SYS_ADMIN") {
		errs = append(errs, field.Invalid(path, Layout(c),
			"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"))
	}
	return errs
}

// validateUserNamespace rejects sharing other host namespaces for a pod with its own user namespace.
func validateUserNamespace(s *podScope, path *field.Path) (errs field.ErrorList) {
	if s.hostUsers() {
		return nil
	}
	refuse := func(name string, shares bool) {
		if shares {
			errs = append(errs, field.Forbidden(path.Child(name), "when `hostUsers` is false"))
		}
	}
	refuse("hostNetwork", s.spec.HostNetwork)
	refuse("HostPID", s.spec.HostPID)
	refuse("HostIPC", s.spec.HostIPC)
	if s.old != nil && s.old.HostUsers != nil && !*s.old.HostUsers && hasDevices(s.old) {
		return errs // stored under older, weaker rules
	}
	eachContainer(s.spec, path, func(c *corev1.Container, at *field.Path) {
		if len(c.VolumeDevices) > 0 {
			errs = append(errs, field.Forbidden(at.Child("volumeDevices"), "when `hostUsers` is false"))
		}
	})
	return errs
}

// hasDevices reports whether a container has block devices.
func hasDevices(spec *corev1.PodSpec) (has bool) {
	eachContainer(spec, nil, func(c *corev1.Container, _ *field.Path) { has = has || len(c.VolumeDevices) > 0 })
	return has
}
