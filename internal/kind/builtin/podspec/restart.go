package podspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// Limits for the restart rules of a container. Source: API reference, Container.restartPolicyRules.
const (
	maxRestartRules = 20
	maxExitCodes    = 255
)

// validateRestartRules validates the container's own restart policy and rules. Rules require a policy for the
// cases that they do not cover.
func validateRestartRules(s *podScope, c *corev1.Container, path *field.Path) (errs field.ErrorList) {
	if c.RestartPolicy == nil && len(c.RestartPolicyRules) == 0 {
		return nil
	}
	rules := path.Child("restartPolicyRules")
	if c.RestartPolicy == nil {
		errs = append(errs, field.Required(path.Child("restartPolicy"),
			"must specify restartPolicy when restart rules are used"))
	} else {
		errs = append(errs, fieldcheck.OneOf(path.Child("restartPolicy"), *c.RestartPolicy,
			corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever,
			corev1.ContainerRestartPolicyOnFailure)...)
	}
	if n := len(c.RestartPolicyRules); n > maxRestartRules {
		errs = append(errs, field.TooMany(rules, n, maxRestartRules))
	}
	for i := range c.RestartPolicyRules {
		errs = append(errs, validateRestartRule(&c.RestartPolicyRules[i], rules.Index(i))...)
	}
	return errs
}

func validateRestartRule(rule *corev1.ContainerRestartRule, path *field.Path) (errs field.ErrorList) {
	errs = fieldcheck.Choice(path.Child("action"), rule.Action,
		corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
	codes := path.Child("exitCodes")
	if rule.ExitCodes == nil {
		return append(errs, field.Required(codes, "must be specified"))
	}
	errs = append(errs, fieldcheck.Choice(codes.Child("operator"), rule.ExitCodes.Operator,
		corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)...)
	values := rule.ExitCodes.Values
	if len(values) > maxExitCodes {
		errs = append(errs, field.TooMany(codes.Child("values"), len(values), maxExitCodes))
	}
	for i, code := range values {
		if slices.Contains(values[:i], code) {
			errs = append(errs, field.Duplicate(codes.Child("values").Index(i), code))
		}
	}
	return errs
}

// validateResizePolicy validates whether resizing resources restarts a container.
func validateResizePolicy(s *podScope, c *corev1.Container, path *field.Path) (errs field.ErrorList) {
	for i, p := range c.ResizePolicy {
		if slices.ContainsFunc(c.ResizePolicy[:i], func(o corev1.ContainerResizePolicy) bool {
			return o.ResourceName == p.ResourceName
		}) {
			errs = append(errs, field.Duplicate(path.Index(i), p.ResourceName))
		}
		errs = append(errs, fieldcheck.Choice(path, p.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)...)
		errs = append(errs, fieldcheck.Choice(path, p.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)...)
		if s.spec.RestartPolicy == corev1.RestartPolicyNever && p.RestartPolicy != corev1.NotRequired {
			errs = append(errs, field.Invalid(path, p.RestartPolicy,
				"must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
		}
	}
	return errs
}

// validateInitResizePolicy rejects the policy RestartContainer for an init container that is no sidecar, because a
// restart would run it again. An update may retain such policies: older versions of Kubernetes accepted them.
func validateInitResizePolicy(s *podScope, c *corev1.Container, path *field.Path) (errs field.ErrorList) {
	for i, p := range c.ResizePolicy {
		if p.RestartPolicy == corev1.RestartContainer && !restartsInitContainers(s.old) {
			errs = append(errs, field.Invalid(path.Index(i).Child("restartPolicy"), p.RestartPolicy,
				"must not be set to 'RestartContainer' for non-sidecar initContainers"))
		}
	}
	return errs
}

// restartsInitContainers reports whether a spec, which may be nil, has an init container that is no sidecar and that a
// resize restarts.
func restartsInitContainers(spec *corev1.PodSpec) bool {
	if spec == nil {
		return false
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; !IsSidecar(c) && restartsForResize(c) {
			return true
		}
	}
	return false
}

func restartsForResize(c *corev1.Container) bool {
	return slices.ContainsFunc(c.ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
		return p.RestartPolicy == corev1.RestartContainer
	})
}
