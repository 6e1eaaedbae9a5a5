package core

import (
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	budgets "k8s.io/component-helpers/apps/poddisruptionbudget"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/kind"
)

// podEviction deletes a pod with the options of the eviction, if its disruption budget allows a disruption.
// Behavior and messages follow Kubernetes 1.36 (pkg/registry/core/pod/storage/eviction.go). Kubernetes writes
// the budget and the pod one after the other; here, one commit changes both or neither.
var podEviction = kind.Subresource{
	Name:  "eviction",
	Kind:  policyv1.SchemeGroupVersion.WithKind("Eviction"),
	Also:  []schema.GroupVersion{{Group: policyv1.GroupName, Version: "v1beta1"}},
	Verbs: []string{"create"},
	New:   func() runtime.Object { return &policyv1.Eviction{} },
	Evicts: &kind.Eviction{
		Options: func(name string, body runtime.Object) (*metav1.DeleteOptions, error) {
			return evictionOptions(name, body.(*policyv1.Eviction))
		},
		Guards: schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudgets"},
		Check: func(obj kind.Object, guards []kind.Object) (kind.Object, error) {
			paid, err := evict(obj.(*corev1.Pod), guards, metav1.Now())
			if paid == nil {
				return nil, err
			}
			return paid, err
		},
	},
}

func evictionOptions(name string, e *policyv1.Eviction) (*metav1.DeleteOptions, error) {
	if e.Name != name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	if e.DeleteOptions != nil && ptr.Deref(e.DeleteOptions.IgnoreStoreReadErrorWithClusterBreakingPotential, false) {
		return nil, kind.NewInvalid(schema.GroupKind{Group: policyv1.GroupName, Kind: "Eviction"}, name,
			field.ErrorList{field.Invalid(
				field.NewPath("deleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential"), true,
				"can not be set for pod eviction, try after removing the option")})
	}
	if e.DeleteOptions == nil {
		return nil, nil
	}
	if errs := metavalidation.ValidateDeleteOptions(e.DeleteOptions); len(errs) > 0 {
		return nil, kind.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	return e.DeleteOptions, nil
}

// evict marks a pod as evicted and returns the budget that allows the disruption, with the disruption
// subtracted. It returns a nil budget if no budget counts the pod: the pod has ended, is pending, or is
// unready and the budget ignores unready pods. It returns an error if the eviction is not allowed.
func evict(pod *corev1.Pod, guards []kind.Object, now metav1.Time) (*policyv1.PodDisruptionBudget, error) {
	if podEnded(pod) || pod.Status.Phase == corev1.PodPending || pod.DeletionTimestamp != nil {
		markEvicted(pod, now)
		return nil, nil
	}
	budget, err := budgetOf(pod, guards)
	if err != nil {
		return nil, err
	}
	if budget == nil || !podReady(pod) && allowsUnready(budget) {
		markEvicted(pod, now)
		return nil, nil
	}
	if err := checkDisruption(budget); err != nil {
		return nil, err
	}
	markEvicted(pod, now)
	return recordDisruption(budget.DeepCopy(), pod, now), nil
}

// budgetOf returns the budget that selects a pod, or nil. It ignores budgets with an invalid selector.
func budgetOf(pod *corev1.Pod, guards []kind.Object) (found *policyv1.PodDisruptionBudget, err error) {
	for _, guard := range guards {
		budget := guard.(*policyv1.PodDisruptionBudget)
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if found != nil {
			return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
				Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
			}}
		}
		found = budget
	}
	return found, nil
}

// allowsUnready reports whether a budget allows evicting unready pods, which it does not count as healthy.
func allowsUnready(b *policyv1.PodDisruptionBudget) bool {
	return ptr.Deref(b.Spec.UnhealthyPodEvictionPolicy, policyv1.IfHealthyBudget) == policyv1.AlwaysAllow ||
		b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// maxDisruptedPods is the maximum number of evicted pods in a budget that the disruption controller has not yet
// observed as deleted.
const maxDisruptedPods = 2000

// checkDisruption returns the reason why a budget does not allow a disruption, or nil.
func checkDisruption(b *policyv1.PodDisruptionBudget) error {
	resource := schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudget"}
	switch s := &b.Status; {
	case s.ObservedGeneration < b.Generation:
		return tooManyDisruptions(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.",
			b.Name))
	case s.DisruptionsAllowed < 0:
		return apierrors.NewForbidden(resource, b.Name, fmt.Errorf("pdb disruptions allowed is negative"))
	case len(s.DisruptedPods) > maxDisruptedPods:
		return apierrors.NewForbidden(resource, b.Name,
			fmt.Errorf("DisruptedPods map too big - too many evictions not confirmed by PDB controller"))
	case s.DisruptionsAllowed == 0:
		return tooManyDisruptions(0, noDisruptionReason(b))
	}
	return nil
}

// tooManyDisruptions returns the 429 for an exhausted budget. after is the delay before a retry in seconds; 0
// sets none.
func tooManyDisruptions(after int, why string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", after)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
		metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: why})
	return err
}

// noDisruptionReason returns the reason why a budget allows no disruption.
func noDisruptionReason(b *policyv1.PodDisruptionBudget) string {
	c := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
	explained := c != nil && c.Status == metav1.ConditionFalse && c.Message != ""
	switch {
	case explained && c.Reason == policyv1.SyncFailedReason:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently because it failed sync: %s",
			b.Name, c.Message)
	case b.Status.CurrentHealthy <= b.Status.DesiredHealthy:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name,
			b.Status.DesiredHealthy, b.Status.CurrentHealthy)
	case explained:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently (%s): %s", b.Name, c.Reason,
			c.Message)
	default:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", b.Name)
	}
}

// recordDisruption subtracts a disruption from a budget, and records the pod there, so that the disruption controller
// does not count it before it observes the deletion.
func recordDisruption(b *policyv1.PodDisruptionBudget, pod *corev1.Pod, now metav1.Time) *policyv1.PodDisruptionBudget {
	b.Status.DisruptionsAllowed--
	if b.Status.DisruptionsAllowed == 0 {
		budgets.UpdateDisruptionAllowedCondition(b)
	}
	if b.Status.DisruptedPods == nil {
		b.Status.DisruptedPods = map[string]metav1.Time{}
	}
	b.Status.DisruptedPods[pod.Name] = now
	return b
}

// markEvicted sets the condition with the reason for the deletion.
func markEvicted(pod *corev1.Pod, now metav1.Time) {
	setPodCondition(pod, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: now,
		Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
	})
}

// setPodCondition sets a condition. The transition time is retained if the status does not change.
func setPodCondition(pod *corev1.Pod, next corev1.PodCondition) {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == next.Type {
			if c.Status == next.Status {
				next.LastTransitionTime = c.LastTransitionTime
			}
			*c = next
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, next)
}
