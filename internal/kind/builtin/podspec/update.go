package podspec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// mutableFields lists the mutable fields of a pod for error messages.
const mutableFields = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
	"`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// validatePodUpdate validates a pod and its changes. Most fields of a spec are immutable, because the kubelet
// has already acted on them.
func validatePodUpdate(pod, old *corev1.Pod) field.ErrorList {
	errs := validateWholePod(pod, old)
	errs = append(errs, validateAnnotationUpdate(pod.Annotations, old.Annotations)...)
	if equality.Semantic.DeepEqual(pod.Spec, old.Spec) {
		return errs
	}
	path := field.NewPath("spec")
	for _, lists := range []struct {
		name     string
		now, was []corev1.Container
	}{
		{"containers", pod.Spec.Containers, old.Spec.Containers},
		{"initContainers", pod.Spec.InitContainers, old.Spec.InitContainers},
	} {
		if len(lists.now) != len(lists.was) {
			return append(errs, field.Forbidden(path.Child(lists.name), "pod updates may not add or remove containers"))
		}
	}
	deadline, stop := validateDeadlineUpdate(&pod.Spec, &old.Spec, path.Child("activeDeadlineSeconds"))
	errs = append(errs, deadline...)
	if stop {
		return errs
	}
	errs = append(errs, validateAddedTolerations(pod.Spec.Tolerations, old.Spec.Tolerations,
		path.Child("tolerations"))...)
	errs = append(errs, validateRemovedGates(pod.Spec.SchedulingGates, old.Spec.SchedulingGates,
		path.Child("schedulingGates"))...)
	fixed, more := resetMutable(&pod.Spec, &old.Spec, path)
	errs = append(errs, more...)
	if !equality.Semantic.DeepEqual(*fixed, old.Spec) {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf("pod updates may not change fields other than %s\n%v",
			mutableFields, layoutDifference(SpecLayout(&old.Spec), SpecLayout(fixed)))))
	}
	return errs
}

// maxDifferingValues is the maximum number of values between the first and the last change for which a difference is
// shown: the time to compute it grows with the square of that number.
const maxDifferingValues = 4096

// layoutDifference returns the lines in which two layouts differ, or nothing if the changes are far apart in large
// layouts.
func layoutDifference(was, is json.RawMessage) string {
	shorter := min(len(was), len(is))
	start := 0
	for start < shorter && was[start] == is[start] {
		start++
	}
	end := 0
	for end < shorter-start && was[len(was)-1-end] == is[len(is)-1-end] {
		end++
	}
	separator := []byte(",")
	if bytes.Count(was[start:len(was)-end], separator)+bytes.Count(is[start:len(is)-end], separator) >
		maxDifferingValues {
		return ""
	}
	return diff.Diff(was, is)
}

// resetMutable returns the new spec with its mutable fields reset to the old values: any remaining difference is
// an error.
func resetMutable(spec, old *corev1.PodSpec, path *field.Path) (*corev1.PodSpec, field.ErrorList) {
	fixed := spec.DeepCopy()
	for i := range fixed.Containers {
		fixed.Containers[i].Image = old.Containers[i].Image
	}
	for i := range fixed.InitContainers {
		fixed.InitContainers[i].Image = old.InitContainers[i].Image
	}
	fixed.ActiveDeadlineSeconds = old.ActiveDeadlineSeconds
	fixed.SchedulingGates = old.SchedulingGates
	fixed.Tolerations = old.Tolerations
	if was, is := old.TerminationGracePeriodSeconds, fixed.TerminationGracePeriodSeconds; was != nil && *was < 0 &&
		is != nil && *is == 1 {
		fixed.TerminationGracePeriodSeconds = was
	}
	if len(old.SchedulingGates) == 0 {
		return fixed, nil
	}
	return fixed, fixGated(fixed, old, path)
}

// fixGated allows restricting the nodes of a pod with scheduling gates.
func fixGated(fixed, old *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	if !equality.Semantic.DeepEqual(fixed.NodeSelector, old.NodeSelector) {
		for key, value := range old.NodeSelector {
			if now, ok := fixed.NodeSelector[key]; !ok || now != value {
				errs = append(errs, field.Invalid(path.Child("nodeSelector"), fixed.NodeSelector,
					"only additions to spec.nodeSelector are allowed (no mutations or deletions)"))
				break
			}
		}
		fixed.NodeSelector = old.NodeSelector
	}
	var was, is *corev1.NodeAffinity
	if old.Affinity != nil {
		was = old.Affinity.NodeAffinity
	}
	if fixed.Affinity != nil {
		is = fixed.Affinity.NodeAffinity
	}
	if equality.Semantic.DeepEqual(was, is) {
		return errs
	}
	errs = append(errs, validateAffinityUpdate(is, was,
		path.Child("affinity", "nodeAffinity", requiredField, "nodeSelectorTerms"))...)
	switch a := fixed.Affinity; {
	case a == nil:
		fixed.Affinity = &corev1.Affinity{NodeAffinity: was}
	case old.Affinity == nil && a.PodAffinity == nil && a.PodAntiAffinity == nil:
		fixed.Affinity = nil
	default:
		a.NodeAffinity = was
	}
	return errs
}

// validateAffinityUpdate checks that each term of the old affinity still exists, with nothing but additions.
func validateAffinityUpdate(affinity, old *corev1.NodeAffinity, path *field.Path) (errs field.ErrorList) {
	if old == nil || old.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	was := old.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	var is []corev1.NodeSelectorTerm
	if affinity != nil && affinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		is = affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	if len(was) > 0 && len(was) != len(is) {
		return field.ErrorList{field.Invalid(path, Layout(is),
			"no additions/deletions to non-empty NodeSelectorTerms list are allowed")}
	}
	for i := range was {
		if !onlyAdds(&is[i], &was[i]) {
			errs = append(errs, field.Invalid(path.Index(i), Layout(is[i]),
				"only additions are allowed (no mutations or deletions)"))
		}
	}
	return errs
}

func onlyAdds(is, was *corev1.NodeSelectorTerm) bool {
	if len(was.MatchExpressions)+len(was.MatchFields) == 0 {
		// an empty term matches nothing; additions would widen it
		return len(is.MatchExpressions)+len(is.MatchFields) == 0
	}
	keeps := func(is, was []corev1.NodeSelectorRequirement) bool {
		return len(is) >= len(was) && equality.Semantic.DeepEqual(is[:len(was)], was)
	}
	return (len(was.MatchExpressions) == 0 || keeps(is.MatchExpressions, was.MatchExpressions)) &&
		(len(was.MatchFields) == 0 || keeps(is.MatchFields, was.MatchFields))
}

// validateDeadlineUpdate allows setting or shortening the deadline. stop reports that no further errors are
// to be reported.
func validateDeadlineUpdate(spec, old *corev1.PodSpec, path *field.Path) (errs field.ErrorList, stop bool) {
	is, was := spec.ActiveDeadlineSeconds, old.ActiveDeadlineSeconds
	switch {
	case is == nil && was != nil:
		return field.ErrorList{field.Invalid(path, is, "must not update from a positive integer to nil value")}, false
	case is == nil:
		return nil, false
	case *is < 0 || *is > math.MaxInt32:
		return field.ErrorList{field.Invalid(path, *is, validation.InclusiveRangeError(0, math.MaxInt32))}, true
	case was != nil && *was < *is:
		return field.ErrorList{field.Invalid(path, *is, "must be less than or equal to previous value")}, true
	}
	return nil, false
}

// validateAddedTolerations allows adding tolerations and changing their duration.
func validateAddedTolerations(is, was []corev1.Toleration, path *field.Path) field.ErrorList {
	kept := make(map[corev1.Toleration]bool, len(is))
	for _, t := range is {
		t.TolerationSeconds = nil
		kept[t] = true
	}
	for _, old := range was {
		if old.TolerationSeconds = nil; !kept[old] {
			return field.ErrorList{field.Forbidden(path,
				"existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return nil
}

func validateRemovedGates(is, was []corev1.PodSchedulingGate, path *field.Path) (errs field.ErrorList) {
	for i, gate := range is {
		if !slices.Contains(was, gate) {
			errs = append(errs, field.Forbidden(path.Index(i).Child("name"),
				fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name)))
		}
	}
	return errs
}

// validateAnnotationUpdate rejects changes of annotations that the kubelet reads only when it creates the
// pod.
func validateAnnotationUpdate(is, was map[string]string) (errs field.ErrorList) {
	path := field.NewPath("metadata", "annotations")
	for _, key := range fieldcheck.SortedKeys(was) {
		what, fixed := fixedAnnotation(key)
		if value, ok := is[key]; fixed && (!ok || value != was[key]) {
			errs = append(errs, field.Forbidden(path.Key(key), "may not remove or update "+what))
		}
	}
	for _, key := range fieldcheck.SortedKeys(is) {
		what, fixed := fixedAnnotation(key)
		if _, ok := was[key]; fixed && !ok {
			errs = append(errs, field.Forbidden(path.Key(key), "may not add "+what))
		}
	}
	return errs
}

func fixedAnnotation(key string) (what string, fixed bool) {
	if strings.HasPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) {
		return "AppArmor annotations", true
	}
	return "mirror pod annotation", key == corev1.MirrorPodAnnotationKey
}
