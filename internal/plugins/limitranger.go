package plugins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

var (
	limitRanges  = schema.GroupResource{Resource: "limitranges"}
	volumeClaims = schema.GroupResource{Resource: "persistentvolumeclaims"}
)

// limitedBy is the annotation that lists the values that LimitRanger set in a pod.
const limitedBy = "kubernetes.io/limit-ranger"

// LimitRanger applies the LimitRanges of a namespace: it sets the default requests and limits of new pods, and rejects
// pods and claims outside of the limits.
type LimitRanger struct{}

// Name implements admission.Plugin.
func (LimitRanger) Name() string { return "LimitRanger" }

// Handles implements admission.Plugin. The resources of an existing pod only change by a resize.
func (LimitRanger) Handles(op admission.Operation, gr schema.GroupResource, sub string) bool {
	switch {
	case gr == pods && op == admission.Create, gr == volumeClaims && (op == admission.Create || op == admission.Update):
		return sub == ""
	case gr == pods && op == admission.Update:
		return sub == "resize"
	}
	return false
}

// Admit implements admission.Plugin.
func (LimitRanger) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	return forEachLimitRange(ctx, a, state, func(spec *corev1.LimitRangeSpec) error {
		setDefaults(pod, spec)
		return nil
	})
}

// Validate implements admission.Plugin. It reports the violations of the first LimitRange that has any.
func (LimitRanger) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	switch obj := a.Object.(type) {
	case *corev1.Pod:
		return forEachLimitRange(ctx, a, state, func(spec *corev1.LimitRangeSpec) error {
			return checkPodLimits(obj, spec)
		})
	case *corev1.PersistentVolumeClaim:
		return forEachLimitRange(ctx, a, state, func(spec *corev1.LimitRangeSpec) error {
			return checkClaimLimits(obj, spec)
		})
	}
	return nil
}

const (
	// maxComparisons is the number of values of LimitRanges that a write is compared with, once for each container.
	// Kubernetes has no limit, and takes a second for half a million.
	maxComparisons = 200_000
	// maxViolations is the number of violations that an error lists.
	maxViolations = 100
)

// forEachLimitRange calls do for each LimitRange of the namespace, unless the object is being deleted. An error of do
// becomes a 403, and so do limits that cost too much to compare.
func forEachLimitRange(ctx context.Context, a *admission.Attributes, state admission.Reader,
	do func(*corev1.LimitRangeSpec) error) error {
	if a.Old != nil && a.Old.GetDeletionTimestamp() != nil {
		return nil
	}
	var violation error
	comparisons := 0
	err := state.List(ctx, limitRanges, a.Namespace, func(obj kind.Object) bool {
		if limits, ok := obj.(*corev1.LimitRange); ok {
			if comparisons += containersOf(a.Object) * valuesOf(&limits.Spec); comparisons > maxComparisons {
				violation = a.Forbidden("the LimitRanges of the namespace have too many values for the containers of this object: "+
					"at most %d comparisons are made", maxComparisons)
			} else if err := do(&limits.Spec); err != nil {
				violation = a.Forbidden("%w", err)
			}
		}
		return violation == nil
	})
	return cmp.Or(err, violation)
}

// containersOf returns the number of containers of a pod, and 1 for other objects.
func containersOf(obj admission.Object) int {
	if pod, ok := obj.(*corev1.Pod); ok {
		return len(pod.Spec.InitContainers) + len(pod.Spec.Containers) + 1
	}
	return 1
}

// valuesOf returns the number of values in a LimitRange.
func valuesOf(spec *corev1.LimitRangeSpec) int {
	n := 1
	for i := range spec.Limits {
		l := &spec.Limits[i]
		n += 1 + len(l.Min) + len(l.Max) + len(l.Default) + len(l.DefaultRequest) + len(l.MaxLimitRequestRatio)
	}
	return n
}

// violations returns an error that lists the first violations; nil if there are none. Entries may be nil.
func violations(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if more := len(errs) - maxViolations; more > 0 {
		errs = append(errs[:maxViolations:maxViolations], fmt.Errorf("%d more violations", more))
	}
	return utilerrors.NewAggregate(errs)
}

// setDefaults sets the default requests and limits in each container, and lists these values in an annotation.
func setDefaults(pod *corev1.Pod, spec *corev1.LimitRangeSpec) {
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	for _, limit := range spec.Limits {
		if limit.Type == corev1.LimitTypeContainer {
			maps.Copy(requests, limit.DefaultRequest)
			maps.Copy(limits, limit.Default)
		}
	}
	var set []string
	in := func(what string, containers []corev1.Container) {
		for i := range containers {
			c := &containers[i]
			var names []string
			c.Resources.Requests, names = withDefaults(c.Resources.Requests, requests)
			if len(names) > 0 {
				set = append(set, fmt.Sprintf("%s request for %s %s", strings.Join(names, ", "), what, c.Name))
			}
			c.Resources.Limits, names = withDefaults(c.Resources.Limits, limits)
			if len(names) > 0 {
				set = append(set, fmt.Sprintf("%s limit for %s %s", strings.Join(names, ", "), what, c.Name))
			}
		}
	}
	in("container", pod.Spec.Containers)
	in("init container", pod.Spec.InitContainers)
	if len(set) > 0 {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[limitedBy] = "LimitRanger plugin set: " + strings.Join(set, "; ")
	}
}

// withDefaults returns the list with defaults for the resources that it lacks, and the sorted names of these resources.
// It may modify the list.
func withDefaults(list, defaults corev1.ResourceList) (corev1.ResourceList, []string) {
	var names []string
	for name, value := range defaults {
		if _, has := list[name]; has {
			continue
		}
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[name] = value.DeepCopy()
		names = append(names, string(name))
	}
	slices.Sort(names)
	return list, names
}

func checkPodLimits(pod *corev1.Pod, spec *corev1.LimitRangeSpec) error {
	var errs []error
	for i := range spec.Limits {
		limit := &spec.Limits[i]
		switch limit.Type {
		case corev1.LimitTypeContainer:
			for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
				for j := range containers {
					r := &containers[j].Resources
					errs = append(errs, checkLimits(limit, r.Requests, r.Limits)...)
				}
			}
		case corev1.LimitTypePod:
			o := resourcehelper.PodResourcesOptions{ExcludeOverhead: true}
			requests, limits := resourcehelper.PodRequests(pod, o), resourcehelper.PodLimits(pod, o)
			errs = append(errs, checkLimits(limit, requests, limits)...)
		}
	}
	return violations(errs)
}

// checkClaimLimits compares only the requests of a claim, because its limits have no meaning.
func checkClaimLimits(claim *corev1.PersistentVolumeClaim, spec *corev1.LimitRangeSpec) error {
	var errs []error
	requests := claim.Spec.Resources.Requests
	for i := range spec.Limits {
		limit := &spec.Limits[i]
		if limit.Type != corev1.LimitTypePersistentVolumeClaim {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(limit.Min)) {
			errs = append(errs, checkMin(limit, name, requests, nil))
		}
		for _, name := range slices.Sorted(maps.Keys(limit.Max)) {
			errs = append(errs, checkMaxRequest(limit, name, requests))
		}
	}
	return violations(errs)
}

// checkLimits compares requests and limits with an item of a LimitRange.
func checkLimits(limit *corev1.LimitRangeItem, requests, limits corev1.ResourceList) (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(limit.Min)) {
		errs = append(errs, checkMin(limit, name, requests, limits))
	}
	for _, name := range slices.Sorted(maps.Keys(limit.Max)) {
		errs = append(errs, checkMax(limit, name, requests, limits))
	}
	for _, name := range slices.Sorted(maps.Keys(limit.MaxLimitRequestRatio)) {
		errs = append(errs, checkRatio(limit, name, requests, limits))
	}
	return errs
}

func checkMin(limit *corev1.LimitRangeItem, name corev1.ResourceName, requests, limits corev1.ResourceList) error {
	least := limit.Min[name]
	request, requested := requests[name]
	value, limited := limits[name]
	rule := func() string { return fmt.Sprintf("minimum %s usage per %s is %s", name, limit.Type, least.String()) }
	switch {
	case !requested:
		return errors.New(rule() + ".  No request is specified")
	case request.Cmp(least) < 0:
		return fmt.Errorf("%s, but request is %s", rule(), request.String())
	case limited && value.Cmp(least) < 0:
		return fmt.Errorf("%s, but limit is %s", rule(), value.String())
	}
	return nil
}

func checkMax(limit *corev1.LimitRangeItem, name corev1.ResourceName, requests, limits corev1.ResourceList) error {
	most := limit.Max[name]
	request, requested := requests[name]
	value, limited := limits[name]
	switch {
	case !limited:
		return errors.New(maximum(limit, name) + ".  No limit is specified")
	case value.Cmp(most) > 0:
		return fmt.Errorf("%s, but limit is %s", maximum(limit, name), value.String())
	case requested && request.Cmp(most) > 0:
		return fmt.Errorf("%s, but request is %s", maximum(limit, name), request.String())
	}
	return nil
}

func checkMaxRequest(limit *corev1.LimitRangeItem, name corev1.ResourceName, requests corev1.ResourceList) error {
	most := limit.Max[name]
	request, requested := requests[name]
	switch {
	case !requested:
		return errors.New(maximum(limit, name) + ".  No request is specified")
	case request.Cmp(most) > 0:
		return fmt.Errorf("%s, but request is %s", maximum(limit, name), request.String())
	}
	return nil
}

// maximum describes the rule of a maximum, for errors.
func maximum(limit *corev1.LimitRangeItem, name corev1.ResourceName) string {
	most := limit.Max[name]
	return fmt.Sprintf("maximum %s usage per %s is %s", name, limit.Type, most.String())
}

func checkRatio(limit *corev1.LimitRangeItem, name corev1.ResourceName, requests, limits corev1.ResourceList) error {
	most := limit.MaxLimitRequestRatio[name]
	request, value := requests[name], limits[name]
	rule := func() string {
		return fmt.Sprintf("%s max limit to request ratio per %s is %s", name, limit.Type, most.String())
	}
	if request.IsZero() {
		return errors.New(rule() + ", but no request is specified or request is 0")
	}
	if value.IsZero() {
		return errors.New(rule() + ", but no limit is specified or limit is 0")
	}
	if ratio := float64(value.MilliValue()) / float64(request.MilliValue()); ratio*1000 > float64(most.MilliValue()) {
		return fmt.Errorf("%s, but provided ratio is %f", rule(), ratio)
	}
	return nil
}
