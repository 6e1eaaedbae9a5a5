package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

func validateTolerations(tolerations []corev1.Toleration, path *field.Path) (errs field.ErrorList) {
	for i := range tolerations {
		t, at := &tolerations[i], path.Index(i)
		if t.Key != "" {
			errs = append(errs, metavalidation.ValidateLabelName(t.Key, at.Child("key"))...)
		} else if t.Operator != corev1.TolerationOpExists {
			errs = append(errs, field.Invalid(at.Child("operator"), t.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			errs = append(errs, field.Invalid(at.Child("effect"), t.Effect,
				"effect must be 'NoExecute' when `tolerationSeconds` is set"))
		}
		errs = append(errs, validateTolerated(t, at.Child("operator"))...)
		if t.Effect != "" {
			errs = append(errs, fieldcheck.OneOf(at.Child("effect"), t.Effect,
				corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
		}
	}
	return errs
}

// validateTolerated validates operator and value; an empty operator means Equal. Errors of both refer to the
// operator.
func validateTolerated(t *corev1.Toleration, path *field.Path) field.ErrorList {
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		if messages := validation.IsValidLabelValue(t.Value); len(messages) > 0 {
			return field.ErrorList{field.Invalid(path, t.Value, strings.Join(messages, ";"))}
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			return field.ErrorList{field.Invalid(path, t.Value, "value must be empty when `operator` is 'Exists'")}
		}
	case corev1.TolerationOpLt, corev1.TolerationOpGt: // rejected, although the error lists them as supported
		return field.ErrorList{field.NotSupported(path, t.Operator, []corev1.TolerationOperator{
			corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt,
		})}
	default:
		return fieldcheck.OneOf(path, t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
	}
	return nil
}

// validateSpread validates the topology spread constraints.
func validateSpread(s *podScope, path *field.Path) (errs field.ErrorList) {
	all := s.spec.TopologySpreadConstraints
	for i := range all {
		c, at := &all[i], path.Index(i)
		if c.MaxSkew <= 0 {
			errs = append(errs, field.Invalid(at.Child("maxSkew"), c.MaxSkew, "must be greater than zero"))
		}
		errs = append(errs, fieldcheck.Required(at.Child("topologyKey"), c.TopologyKey, "can not be empty")...)
		errs = append(errs, fieldcheck.OneOf(at.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, corev1.DoNotSchedule,
			corev1.ScheduleAnyway)...)
		if slices.ContainsFunc(all[i+1:], func(o corev1.TopologySpreadConstraint) bool {
			return o.TopologyKey == c.TopologyKey && o.WhenUnsatisfiable == c.WhenUnsatisfiable
		}) {
			errs = append(errs, field.Duplicate(at.Child("{topologyKey, whenUnsatisfiable}"),
				fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable)))
		}
		errs = append(errs, validateMinDomains(c, at.Child("minDomains"))...)
		errs = append(errs, validateInclusion(c.NodeAffinityPolicy, at.Child("nodeAffinityPolicy"))...)
		errs = append(errs, validateInclusion(c.NodeTaintsPolicy, at.Child("nodeTaintsPolicy"))...)
		errs = append(errs, validateSpreadKeys(s, c, at.Child("matchLabelKeys"))...)
		errs = append(errs, metavalidation.ValidateLabelSelector(c.LabelSelector,
			metavalidation.LabelSelectorValidationOptions{}, at.Child("labelSelector"))...)
	}
	return errs
}

func validateMinDomains(c *corev1.TopologySpreadConstraint, path *field.Path) (errs field.ErrorList) {
	if c.MinDomains == nil {
		return nil
	}
	if *c.MinDomains <= 0 {
		errs = append(errs, field.Invalid(path, c.MinDomains, "must be greater than zero"))
	}
	if c.WhenUnsatisfiable != corev1.DoNotSchedule {
		errs = append(errs, field.Invalid(path, c.MinDomains,
			fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule,
				c.WhenUnsatisfiable)))
	}
	return errs
}

func validateInclusion(policy *corev1.NodeInclusionPolicy, path *field.Path) field.ErrorList {
	if policy == nil {
		return nil
	}
	return fieldcheck.OneOf(path, *policy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
}

// validateSpreadKeys rejects keys in matchLabelKeys that the selector already contains. In a pod, the
// selector contains each key once, because mergeMatchLabelKeys has added it.
func validateSpreadKeys(s *podScope, c *corev1.TopologySpreadConstraint, path *field.Path) (errs field.ErrorList) {
	if len(c.MatchLabelKeys) > 0 && c.LabelSelector == nil {
		errs = append(errs, field.Forbidden(path, "must not be specified when labelSelector is not set"))
	}
	merged := 0
	if s.isPod() {
		merged = 1
	}
	for i, key := range c.MatchLabelKeys {
		errs = append(errs, metavalidation.ValidateLabelName(key, path.Index(i))...)
		if countKey(c.LabelSelector, key) > merged {
			errs = append(errs, field.Invalid(path.Index(i), key, "exists in both matchLabelKeys and labelSelector"))
		}
	}
	return errs
}

// mergeMatchLabelKeys adds the values of a new pod's labels for matchLabelKeys to the selectors, so that a
// scheduler only needs the selectors. Sources: KEP-3633 (pod affinity), KEP-3243 (topology spread).
func mergeMatchLabelKeys(pod *corev1.Pod) {
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		mergeKeys(pod.Labels, c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn)
	}
	a := pod.Spec.Affinity
	if a == nil {
		return
	}
	merge := func(required []corev1.PodAffinityTerm, weighted []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			mergeTerm(pod.Labels, &required[i])
		}
		for i := range weighted {
			mergeTerm(pod.Labels, &weighted[i].PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		merge(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		merge(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func mergeTerm(labels map[string]string, t *corev1.PodAffinityTerm) {
	mergeKeys(labels, t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn)
	mergeKeys(labels, t.LabelSelector, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
}

func mergeKeys(labels map[string]string, selector *metav1.LabelSelector, keys []string,
	operator metav1.LabelSelectorOperator) {
	if selector == nil {
		return
	}
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			selector.MatchExpressions = append(selector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
		}
	}
}
