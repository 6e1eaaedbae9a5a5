package policy

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/deprecation"

	"github.com/bowline-dev/bowline/internal/kind"
)

// oldVersions is the version of budgets before Kubernetes 1.25, which removed it. It has one difference: an empty
// selector selects nothing, and in policy/v1 everything.
var oldVersions = map[string]kind.Version[*policyv1.PodDisruptionBudget]{
	policyv1beta1.SchemeGroupVersion.String(): {
		New: func() runtime.Object { return &policyv1beta1.PodDisruptionBudget{} },
		ToHub: func(old runtime.Object) (*policyv1.PodDisruptionBudget, error) {
			return upgrade(old.(*policyv1beta1.PodDisruptionBudget)), nil
		},
		FromHub: func(b *policyv1.PodDisruptionBudget) (runtime.Object, error) { return downgrade(b), nil },
	},
}

// oldEndpoint returns the endpoint of that version, with a deprecation warning.
func oldEndpoint() kind.Endpoint {
	gv := policyv1beta1.SchemeGroupVersion
	obj := &policyv1beta1.PodDisruptionBudget{}
	obj.SetGroupVersionKind(gv.WithKind("PodDisruptionBudget"))
	return kind.Endpoint{Group: gv.Group, Version: gv.Version, Deprecated: deprecation.WarningMessage(obj)}
}

// emptySelectorLabel is Kubernetes' label, which no pod has, with which each version represents the other's empty
// selector.
const emptySelectorLabel = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

// selectorOn returns a selector on the marker.
func selectorOn(operator metav1.LabelSelectorOperator) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: emptySelectorLabel,
		Operator: operator}}}
}

func upgrade(old *policyv1beta1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: old.ObjectMeta,
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: old.Spec.MinAvailable, Selector: old.Spec.Selector, MaxUnavailable: old.Spec.MaxUnavailable,
			UnhealthyPodEvictionPolicy: (*policyv1.UnhealthyPodEvictionPolicyType)(old.Spec.UnhealthyPodEvictionPolicy),
		},
		Status: policyv1.PodDisruptionBudgetStatus(old.Status),
	}
	switch selector := b.Spec.Selector; {
	case selector == nil:
	case len(selector.MatchLabels)+len(selector.MatchExpressions) == 0:
		b.Spec.Selector = selectorOn(metav1.LabelSelectorOpExists)
	case equality.Semantic.DeepEqual(selector, selectorOn(metav1.LabelSelectorOpDoesNotExist)):
		b.Spec.Selector = &metav1.LabelSelector{}
	default: // the marker is nobody's to use otherwise
		selector.MatchExpressions = slices.DeleteFunc(selector.MatchExpressions,
			func(r metav1.LabelSelectorRequirement) bool { return r.Key == emptySelectorLabel })
	}
	return b
}

func downgrade(b *policyv1.PodDisruptionBudget) *policyv1beta1.PodDisruptionBudget {
	b = b.DeepCopy()
	old := &policyv1beta1.PodDisruptionBudget{
		ObjectMeta: b.ObjectMeta,
		Spec: policyv1beta1.PodDisruptionBudgetSpec{
			MinAvailable: b.Spec.MinAvailable, Selector: b.Spec.Selector, MaxUnavailable: b.Spec.MaxUnavailable,
			UnhealthyPodEvictionPolicy: (*policyv1beta1.UnhealthyPodEvictionPolicyType)(b.Spec.UnhealthyPodEvictionPolicy),
		},
		Status: policyv1beta1.PodDisruptionBudgetStatus(b.Status),
	}
	switch selector := old.Spec.Selector; {
	case selector == nil:
	case equality.Semantic.DeepEqual(selector, selectorOn(metav1.LabelSelectorOpExists)):
		old.Spec.Selector = &metav1.LabelSelector{}
	case len(selector.MatchLabels)+len(selector.MatchExpressions) == 0:
		old.Spec.Selector = selectorOn(metav1.LabelSelectorOpDoesNotExist)
	}
	old.SetGroupVersionKind(policyv1beta1.SchemeGroupVersion.WithKind("PodDisruptionBudget"))
	return old
}
