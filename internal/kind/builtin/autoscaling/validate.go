package autoscaling

import (
	"errors"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// maxErrors is the number of errors after which the elements of a list are no longer validated. It bounds the cost of
// lists with very many invalid elements.
const maxErrors = 1000

// validateAutoscaler returns errors with the field paths of autoscaling/v2 for both versions, as Kubernetes does.
func validateAutoscaler(h, old *autoscalingv2.HorizontalPodAutoscaler, sub string) field.ErrorList {
	if sub == "status" {
		return validateStatus(&h.Status, field.NewPath("status"))
	}
	spec, path := &h.Spec, field.NewPath("spec")
	var was *autoscalingv2.HorizontalPodAutoscalerSpec
	if old != nil {
		was = &old.Spec
	}
	errs, late := validateReplicas(spec, was, path)
	errs = append(errs, validateReference(&spec.ScaleTargetRef, targetVersions(spec, was),
		path.Child("scaleTargetRef"))...)
	errs = append(errs, validateMetrics(spec, metricVersions(was), path.Child("metrics"))...)
	if b := spec.Behavior; b != nil {
		errs = append(errs, validateRules(b.ScaleUp, path.Child("behavior", "scaleUp"))...)
		errs = append(errs, validateRules(b.ScaleDown, path.Child("behavior", "scaleDown"))...)
	}
	return append(errs, late...)
}

// validateReplicas validates the bounds of the replicas. Kubernetes checks them twice. Errors of the declarative rules
// replace those of the hand-written rules and come last, but declarative rules ignore values that an update does not
// change.
func validateReplicas(spec, was *autoscalingv2.HorizontalPodAutoscalerSpec,
	path *field.Path) (errs, late field.ErrorList) {
	add := func(changed bool, err *field.Error) {
		if changed {
			late = append(late, err)
		} else {
			errs = append(errs, err)
		}
	}
	if n := spec.MinReplicas; n != nil && *n < 0 {
		add(was == nil || was.MinReplicas == nil || *was.MinReplicas != *n,
			field.Invalid(path.Child("minReplicas"), *n, content.MinError(0)))
	}
	maxPath, changed := path.Child("maxReplicas"), was == nil || was.MaxReplicas != spec.MaxReplicas
	switch {
	case spec.MaxReplicas == 0 && changed:
		add(true, field.Required(maxPath, ""))
	case spec.MaxReplicas == 0:
		add(false, field.Required(maxPath, "must be set and greater than 0"))
	case spec.MaxReplicas < 0:
		add(changed, field.Invalid(maxPath, spec.MaxReplicas, content.MinError(1)))
	}
	if n := spec.MinReplicas; n != nil && spec.MaxReplicas < *n {
		errs = append(errs, field.Invalid(maxPath, spec.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	}
	return errs, late
}

// versionRule determines which apiVersions a reference may have.
type versionRule int

const (
	// groupRequired rejects the core group, which is also the group of an empty apiVersion.
	groupRequired versionRule = iota
	// anyGroup allows the core group.
	anyGroup
	// anyVersion allows any text.
	anyVersion
)

// targetVersions returns the rule for spec.scaleTargetRef. Replication controllers are the only core kind with a scale.
// An unchanged reference is not validated: it may be older than the rule.
func targetVersions(spec, was *autoscalingv2.HorizontalPodAutoscalerSpec) versionRule {
	target := &spec.ScaleTargetRef
	switch {
	case was != nil && was.ScaleTargetRef.APIVersion == target.APIVersion && was.ScaleTargetRef.Kind == target.Kind:
		return anyVersion
	case target.Kind == "ReplicationController":
		return anyGroup
	}
	return groupRequired
}

// metricVersions returns the rule for the objects that metrics describe. It allows anything if an old metric was
// invalid.
func metricVersions(was *autoscalingv2.HorizontalPodAutoscalerSpec) versionRule {
	if was == nil {
		return anyGroup
	}
	for i := range was.Metrics {
		m := &was.Metrics[i]
		if m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil &&
			checkVersion(m.Object.DescribedObject.APIVersion, anyGroup) != nil {
			return anyVersion
		}
	}
	return anyGroup
}

func checkVersion(apiVersion string, rule versionRule) error {
	if rule == anyVersion {
		return nil
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err == nil && rule == groupRequired && gv.Group == "" {
		err = errors.New("apiVersion must specify API group")
	}
	return err
}

func validateReference(r *autoscalingv2.CrossVersionObjectReference, rule versionRule,
	path *field.Path) field.ErrorList {
	errs := validateSegment(r.Kind, "", path.Child("kind"))
	errs = append(errs, validateSegment(r.Name, "", path.Child("name"))...)
	if err := checkVersion(r.APIVersion, rule); err != nil {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), r.APIVersion, err.Error()))
	}
	return errs
}

// validateSegment requires a name that can be an element of a URL's path; missing is the error's detail if it is empty.
func validateSegment(name, missing string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, missing)}
	}
	return fieldcheck.Invalid(path, name, content.IsPathSegmentName(name))
}

// validateRules validates the rules for one direction.
func validateRules(r *autoscalingv2.HPAScalingRules, path *field.Path) (errs field.ErrorList) {
	const maxWindow = 3600
	if r == nil {
		return nil
	}
	window := path.Child("stabilizationWindowSeconds")
	switch n := r.StabilizationWindowSeconds; {
	case n == nil:
	case *n < 0:
		errs = append(errs, field.Invalid(window, *n, "must be greater than or equal to zero"))
	case *n > maxWindow:
		errs = append(errs, field.Invalid(window, *n, fmt.Sprintf("must be less than or equal to %d", maxWindow)))
	}
	if p := r.SelectPolicy; p != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("selectPolicy"), *p, autoscalingv2.DisabledPolicySelect,
			autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect)...)
	}
	policies := path.Child("policies")
	if len(r.Policies) == 0 {
		errs = append(errs, field.Required(policies, "must specify at least one Policy"))
	}
	for i := range r.Policies {
		if len(errs) >= maxErrors {
			break
		}
		errs = append(errs, validatePolicy(&r.Policies[i], policies.Index(i))...)
	}
	if t := r.Tolerance; t != nil && t.Sign() < 0 {
		errs = append(errs, field.Invalid(path.Child("tolerance"), t.String(), content.MinError(0)))
	}
	return errs
}

func validatePolicy(p *autoscalingv2.HPAScalingPolicy, path *field.Path) field.ErrorList {
	const (
		positive  = "must be greater than zero"
		maxPeriod = 1800
	)
	errs := fieldcheck.OneOf(path.Child("type"), p.Type, autoscalingv2.PercentScalingPolicy,
		autoscalingv2.PodsScalingPolicy)
	if p.Value <= 0 {
		errs = append(errs, field.Invalid(path.Child("value"), p.Value, positive))
	}
	switch period := path.Child("periodSeconds"); {
	case p.PeriodSeconds <= 0:
		errs = append(errs, field.Invalid(period, p.PeriodSeconds, positive))
	case p.PeriodSeconds > maxPeriod:
		errs = append(errs, field.Invalid(period, p.PeriodSeconds,
			fmt.Sprintf("must be less than or equal to %d", maxPeriod)))
	}
	return errs
}

// validateStatus validates a write of the status. It does not validate the metrics and the types of conditions.
func validateStatus(s *autoscalingv2.HorizontalPodAutoscalerStatus, path *field.Path) (errs field.ErrorList) {
	for i := range s.Conditions {
		if n := s.Conditions[i].ObservedGeneration; n != nil && len(errs) < maxErrors {
			errs = append(errs, fieldcheck.NonNegative(
				path.Child("conditions").Index(i).Child("observedGeneration"), *n)...)
		}
	}
	errs = append(errs, fieldcheck.NonNegative(path.Child("currentReplicas"), int64(s.CurrentReplicas))...)
	return append(errs, fieldcheck.NonNegative(path.Child("desiredReplicas"), int64(s.DesiredReplicas))...)
}
