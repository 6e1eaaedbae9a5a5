package podspec

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateOS validates the operating system of a pod, and rejects fields that only the other one supports.
func validateOS(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	if spec.OS == nil {
		return nil
	}
	switch spec.OS.Name {
	case "":
		return field.ErrorList{field.Required(path.Child("os", "name"), "cannot be empty")}
	case corev1.Linux:
		return validateLinux(spec, path)
	case corev1.Windows:
		return validateWindows(spec, path)
	}
	return fieldcheck.OneOf(path.Child("os"), spec.OS.Name, corev1.Linux, corev1.Windows)
}

func validateLinux(spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	const message = "windows options cannot be set for a linux pod"
	if c := spec.SecurityContext; c != nil && c.WindowsOptions != nil {
		errs = append(errs, field.Forbidden(path.Child("securityContext", "windowsOptions"), message))
	}
	eachContainer(spec, path, func(c *corev1.Container, at *field.Path) {
		if c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil {
			errs = append(errs, field.Forbidden(at.Child("securityContext", "windowsOptions"), message))
		}
	})
	return errs
}

// forbiddenFields collects errors for fields that are set but not allowed.
type forbiddenFields struct {
	path *field.Path
	errs field.ErrorList
}

func (r *forbiddenFields) refuse(name string, set bool) {
	if set {
		r.errs = append(r.errs, field.Forbidden(r.path.Child(name), "cannot be set for a windows pod"))
	}
}

func validateWindows(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c := spec.SecurityContext; c != nil {
		whole, r := forbiddenFields{path: path}, forbiddenFields{path: path.Child("securityContext")}
		r.refuse("appArmorProfile", c.AppArmorProfile != nil)
		r.refuse("seLinuxOptions", c.SELinuxOptions != nil)
		whole.refuse("hostUsers", spec.HostUsers != nil)
		whole.refuse("hostPID", spec.HostPID)
		whole.refuse("hostIPC", spec.HostIPC)
		r.refuse("seccompProfile", c.SeccompProfile != nil)
		r.refuse("fsGroup", c.FSGroup != nil)
		r.refuse("fsGroupChangePolicy", c.FSGroupChangePolicy != nil)
		r.refuse("sysctls", len(c.Sysctls) > 0)
		whole.refuse("shareProcessNamespace", spec.ShareProcessNamespace != nil)
		r.refuse("runAsUser", c.RunAsUser != nil)
		r.refuse("runAsGroup", c.RunAsGroup != nil)
		r.refuse("supplementalGroups", c.SupplementalGroups != nil)
		r.refuse("supplementalGroupsPolicy", c.SupplementalGroupsPolicy != nil)
		r.refuse("seLinuxChangePolicy", c.SELinuxChangePolicy != nil)
		errs = append(whole.errs, r.errs...)
	}
	eachContainer(spec, path, func(c *corev1.Container, at *field.Path) {
		if c.SecurityContext != nil {
			errs = append(errs, validateWindowsContainer(c.SecurityContext, at.Child("securityContext"))...)
		}
	})
	return errs
}

func validateWindowsContainer(c *corev1.SecurityContext, path *field.Path) field.ErrorList {
	r := forbiddenFields{path: path}
	r.refuse("appArmorProfile", c.AppArmorProfile != nil)
	r.refuse("seLinuxOptions", c.SELinuxOptions != nil)
	r.refuse("seccompProfile", c.SeccompProfile != nil)
	r.refuse("capabilities", c.Capabilities != nil)
	r.refuse("readOnlyRootFilesystem", c.ReadOnlyRootFilesystem != nil)
	r.refuse("privileged", c.Privileged != nil)
	r.refuse("allowPrivilegeEscalation", c.AllowPrivilegeEscalation != nil)
	r.refuse("procMount", c.ProcMount != nil)
	r.refuse("runAsUser", c.RunAsUser != nil)
	r.refuse("runAsGroup", c.RunAsGroup != nil)
	return r.errs
}

// Limits for Windows containers. Source: API reference, WindowsSecurityContextOptions.
const (
	maxCredentialSpecKiB = 64
	maxUserDomain        = 256
	maxUserName          = 104
)

func validateWindowsOptions(o *corev1.WindowsSecurityContextOptions, path *field.Path) (errs field.ErrorList) {
	if o == nil {
		return nil
	}
	if name := o.GMSACredentialSpecName; name != nil {
		errs = append(errs, fieldcheck.Invalid(path.Child("gmsaCredentialSpecName"), name,
			validation.IsDNS1123Subdomain(*name))...)
	}
	if spec := o.GMSACredentialSpec; spec != nil {
		at := path.Child("gmsaCredentialSpec")
		if *spec == "" {
			errs = append(errs, field.Invalid(at, spec, "gmsaCredentialSpec cannot be an empty string"))
		} else if len(*spec) > maxCredentialSpecKiB*1024 {
			errs = append(errs, field.Invalid(at, spec,
				fmt.Sprintf("gmsaCredentialSpec size must be under %d KiB", maxCredentialSpecKiB)))
		}
	}
	if name := o.RunAsUserName; name != nil {
		errs = append(errs, fieldcheck.Invalid(path.Child("runAsUserName"), name, windowsUserErrors(*name))...)
	}
	return errs
}

// windowsUserErrors validates a user in the form DOMAIN\USER or USER.
func windowsUserErrors(name string) (messages []string) {
	parts := strings.Split(name, `\`)
	switch {
	case name == "":
		return []string{"runAsUserName cannot be an empty string"}
	case strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return []string{"runAsUserName cannot contain control characters"}
	case len(parts) > 2:
		return []string{"runAsUserName cannot contain more than one backslash"}
	case len(parts) == 2:
		messages = windowsDomainErrors(parts[0])
	}
	user := parts[len(parts)-1]
	if user == "" {
		messages = append(messages, "runAsUserName's User cannot be empty")
	} else if len(user) > maxUserName {
		messages = append(messages, fmt.Sprintf("runAsUserName's User length must not be longer than %d characters",
			maxUserName))
	}
	if user != "" && strings.Trim(user, ". ") == "" {
		messages = append(messages, "runAsUserName's User cannot contain only periods or spaces")
	}
	if strings.ContainsAny(user, `"/\:;|=,+*?<>@[]`) {
		messages = append(messages, `runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]`)
	}
	return messages
}

func windowsDomainErrors(domain string) (messages []string) {
	if len(domain) >= maxUserDomain {
		messages = append(messages, fmt.Sprintf("runAsUserName's Domain length must be under %d characters",
			maxUserDomain))
	}
	netBIOS := domain != "" && len(domain) <= 15 && domain[0] != '.' && !strings.ContainsAny(domain, `\/:*?"<>|`)
	if !netBIOS && !windowsDomain.MatchString(domain) {
		messages = append(messages, "runAsUserName's Domain doesn't match the NetBios nor the DNS format")
	}
	return messages
}

const windowsLabel = `[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?`

var windowsDomain = regexp.MustCompile(`^` + windowsLabel + `(\.` + windowsLabel + `)*$`)

// validateHostProcess checks that all containers of a pod are host processes, on the host's network, or none.
func validateHostProcess(spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	var wholePod *bool
	if c := spec.SecurityContext; c != nil && c.WindowsOptions != nil {
		wholePod = c.WindowsOptions.HostProcess
	}
	containers, onHost := 0, 0
	eachContainer(spec, path, func(c *corev1.Container, at *field.Path) {
		containers++
		own := wholePod
		if s := c.SecurityContext; s != nil && s.WindowsOptions != nil && s.WindowsOptions.HostProcess != nil {
			own = s.WindowsOptions.HostProcess
			if wholePod != nil && *wholePod != *own {
				errs = append(errs, field.Invalid(at.Child("securityContext", "windowsOptions", "hostProcess"), *own,
					fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *wholePod)))
			}
		}
		if own != nil && *own {
			onHost++
		}
	})
	if onHost == 0 {
		return errs
	}
	if onHost != containers {
		errs = append(errs, field.Invalid(path, "",
			"If pod contains any hostProcess containers then all containers must be HostProcess containers"))
	}
	if !spec.HostNetwork {
		errs = append(errs, field.Invalid(path.Child("hostNetwork"), false,
			"hostNetwork must be true if pod contains any hostProcess containers"))
	}
	return errs
}
