package plugins

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/pod-security-admission/api"
)

// podSecurityConfig is the configuration of PodSecurity, in Kubernetes' format. An empty level is privileged, and an
// empty version is the latest one.
type podSecurityConfig struct {
	metav1.TypeMeta `json:""`
	Defaults        struct {
		Enforce        string `json:"enforce,omitempty"`
		EnforceVersion string `json:"enforce-version,omitempty"`
		Audit          string `json:"audit,omitempty"`
		AuditVersion   string `json:"audit-version,omitempty"`
		Warn           string `json:"warn,omitempty"`
		WarnVersion    string `json:"warn-version,omitempty"`
	} `json:"defaults"`
	Exemptions struct {
		Usernames      []string `json:"usernames,omitempty"`
		Namespaces     []string `json:"namespaces,omitempty"`
		RuntimeClasses []string `json:"runtimeClasses,omitempty"`
	} `json:"exemptions"`
}

// newPodSecurity returns the plugin for a configuration, or an error for each wrong field.
func newPodSecurity(c podSecurityConfig) (PodSecurity, error) {
	var errs field.ErrorList
	d, path := &c.Defaults, field.NewPath("defaults")
	parse := func(name, level, version string) (parsed api.LevelVersion) {
		var err error
		if parsed.Level, err = api.ParseLevel(cmp.Or(level, string(api.LevelPrivileged))); err != nil {
			errs = append(errs, field.Invalid(path.Child(name), level, err.Error()))
		}
		if parsed.Version, err = api.ParseVersion(cmp.Or(version, api.VersionLatest)); err != nil {
			errs = append(errs, field.Invalid(path.Child(name+"-version"), version, err.Error()))
		}
		return parsed
	}
	p := PodSecurity{
		defaults: &api.Policy{Enforce: parse("enforce", d.Enforce, d.EnforceVersion),
			Warn: parse("warn", d.Warn, d.WarnVersion), Audit: parse("audit", d.Audit, d.AuditVersion)},
		users: c.Exemptions.Usernames, namespaces: c.Exemptions.Namespaces, runtimes: c.Exemptions.RuntimeClasses,
	}
	path = field.NewPath("exemptions")
	errs = append(errs, checkExempt(path.Child("namespaces"), p.namespaces, func(name string) []string {
		return apivalidation.ValidateNamespaceName(name, false)
	})...)
	errs = append(errs, checkExempt(path.Child("runtimeClasses"), p.runtimes, func(name string) []string {
		return apivalidation.NameIsDNSSubdomain(name, false)
	})...)
	errs = append(errs, checkExempt(path.Child("usernames"), p.users, func(name string) []string {
		if name == "" {
			return []string{"username must not be empty"}
		}
		return nil
	})...)
	return p, errs.ToAggregate()
}

// checkExempt returns an error for each name that is invalid or occurs twice.
func checkExempt(path *field.Path, names []string, problems func(string) []string) (errs field.ErrorList) {
	seen := map[string]bool{}
	for i, name := range names {
		if wrong := problems(name); len(wrong) > 0 {
			errs = append(errs, field.Invalid(path.Index(i), name, strings.Join(wrong, ", ")))
		} else if seen[name] {
			errs = append(errs, field.Duplicate(path.Index(i), name))
		}
		seen[name] = true
	}
	return errs
}

// policy returns the policy for namespaces without labels.
func (p PodSecurity) policy() api.Policy {
	if p.defaults != nil {
		return *p.defaults
	}
	privileged := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	return api.Policy{Enforce: privileged, Audit: privileged, Warn: privileged}
}

// exemption returns what the configuration exempts of a namespace and a user; empty for none of them.
func (p PodSecurity) exemption(namespace, user string) string {
	switch {
	case slices.Contains(p.namespaces, namespace):
		return "namespace"
	case user != "" && slices.Contains(p.users, user):
		return "user"
	}
	return ""
}

// exemptsRuntime reports whether the configuration exempts the runtime class of a pod.
func (p PodSecurity) exemptsRuntime(spec *corev1.PodSpec) bool {
	class := spec.RuntimeClassName
	return class != nil && *class != "" && slices.Contains(p.runtimes, *class)
}

// exemptWarning returns a warning for an exempt namespace whose labels have no effect, or an empty string.
func (p PodSecurity) exemptWarning(ns *corev1.Namespace, asked api.Policy) string {
	defaults := p.policy()
	if asked.FullyPrivileged() || asked.Equivalent(&defaults) {
		return ""
	}
	var modes []string
	for _, m := range []struct {
		name, level, version string
		asked                api.LevelVersion
	}{
		{"enforce", api.EnforceLevelLabel, api.EnforceVersionLabel, asked.Enforce},
		{"audit", api.AuditLevelLabel, api.AuditVersionLabel, asked.Audit},
		{"warn", api.WarnLevelLabel, api.WarnVersionLabel, asked.Warn},
	} {
		_, level := ns.Labels[m.level]
		_, version := ns.Labels[m.version]
		if m.asked.Level != api.LevelPrivileged && (level || version) {
			modes = append(modes, m.name+"="+m.asked.String())
		}
	}
	return fmt.Sprintf("namespace %q is exempt from Pod Security, and the policy (%s) will be ignored", ns.Name,
		strings.Join(modes, ", "))
}
