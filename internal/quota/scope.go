package quota

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Covers reports whether an object is in all scopes of a quota.
func Covers(q *corev1.ResourceQuota, obj metav1.Object) bool {
	for _, scope := range scopesOf(q) {
		if !isIn(obj, scope) {
			return false
		}
	}
	return true
}

// scopesOf returns all scopes of a quota; an object counts if it is in each of them.
func scopesOf(q *corev1.ResourceQuota) (all []corev1.ScopedResourceSelectorRequirement) {
	for _, scope := range q.Spec.Scopes {
		all = append(all, corev1.ScopedResourceSelectorRequirement{ScopeName: scope,
			Operator: corev1.ScopeSelectorOpExists})
	}
	if q.Spec.ScopeSelector != nil {
		all = append(all, q.Spec.ScopeSelector.MatchExpressions...)
	}
	return all
}

// isIn reports whether an object is in a scope. Only pods and claims are in any scope.
func isIn(obj metav1.Object, scope corev1.ScopedResourceSelectorRequirement) bool {
	switch obj := obj.(type) {
	case *corev1.Pod:
		return podIsIn(obj, scope)
	case *corev1.PersistentVolumeClaim:
		return scope.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass &&
			selects(scope, attributeClasses(obj)...)
	}
	return false
}

func podIsIn(pod *corev1.Pod, scope corev1.ScopedResourceSelectorRequirement) bool {
	hasDeadline := pod.Spec.ActiveDeadlineSeconds != nil
	bestEffort := pod.Status.QOSClass == corev1.PodQOSBestEffort
	switch scope.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return hasDeadline
	case corev1.ResourceQuotaScopeNotTerminating:
		return !hasDeadline
	case corev1.ResourceQuotaScopeBestEffort:
		return bestEffort
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !bestEffort
	case corev1.ResourceQuotaScopePriorityClass:
		return selects(scope, nonEmpty(pod.Spec.PriorityClassName)...)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return slices.ContainsFunc(affinityTerms(pod.Spec.Affinity), func(t corev1.PodAffinityTerm) bool {
			return len(t.Namespaces) > 0 || t.NamespaceSelector != nil
		})
	}
	return false
}

// affinityTerms returns all pod affinity and anti-affinity terms.
func affinityTerms(a *corev1.Affinity) (all []corev1.PodAffinityTerm) {
	if a == nil {
		return nil
	}
	var weighted []corev1.WeightedPodAffinityTerm
	if p := a.PodAffinity; p != nil {
		all = append(all, p.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = append(weighted, p.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if p := a.PodAntiAffinity; p != nil {
		all = append(all, p.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = append(weighted, p.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for _, w := range weighted {
		all = append(all, w.PodAffinityTerm)
	}
	return all
}

// attributeClasses returns the VolumeAttributesClasses of a claim: the requested, the current and the target
// one.
func attributeClasses(c *corev1.PersistentVolumeClaim) (names []string) {
	if name := c.Spec.VolumeAttributesClassName; name != nil {
		names = append(names, nonEmpty(*name)...)
	}
	if name := c.Status.CurrentVolumeAttributesClassName; name != nil {
		names = append(names, nonEmpty(*name)...)
	}
	if m := c.Status.ModifyVolumeStatus; m != nil {
		names = append(names, nonEmpty(m.TargetVolumeAttributesClassName)...)
	}
	return names
}

func nonEmpty(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// selects reports whether a scope's operator matches the values of an object.
func selects(scope corev1.ScopedResourceSelectorRequirement, values ...string) bool {
	listed := func(value string) bool { return slices.Contains(scope.Values, value) }
	switch scope.Operator {
	case corev1.ScopeSelectorOpExists:
		return len(values) > 0
	case corev1.ScopeSelectorOpDoesNotExist:
		return len(values) == 0
	case corev1.ScopeSelectorOpIn:
		return slices.ContainsFunc(values, listed)
	case corev1.ScopeSelectorOpNotIn:
		return len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return !listed(v) })
	}
	return false
}
