package core

import (
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

// limitRangeKind returns the kind of limit ranges. The admission plugin LimitRanger applies them to pods and claims.
func limitRangeKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "LimitRange", Plural: "limitranges", Singular: "limitrange", ShortNames: []string{"limits"},
		Namespaced:     true,
		CreateOnUpdate: true,
		Endpoints:      []kind.Endpoint{{Version: "v1"}},
	}, kind.Rules[*corev1.LimitRange]{
		Default:  defaultLimitRange,
		Prepare:  nameLimitRange,
		Validate: validateLimitRange,
	})
}

// nameLimitRange names a limit range that was created without a name.
func nameLimitRange(l, old *corev1.LimitRange, _ string) {
	if old == nil && l.Name == "" {
		l.Name = uuid.NewString()
	}
}

func defaultLimitRange(l *corev1.LimitRange) {
	for i := range l.Spec.Limits {
		item := &l.Spec.Limits[i]
		if item.Type == corev1.LimitTypeContainer {
			defaultContainerLimits(item)
		}
		for _, list := range []corev1.ResourceList{
			item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio,
		} {
			podspec.RoundUp(list)
		}
	}
}

// defaultContainerLimits derives a missing default limit from the maximum, and a missing default request from the
// default limit or else from the minimum.
func defaultContainerLimits(item *corev1.LimitRangeItem) {
	if item.Default == nil {
		item.Default = corev1.ResourceList{}
	}
	if item.DefaultRequest == nil {
		item.DefaultRequest = corev1.ResourceList{}
	}
	fill(item.Default, item.Max)
	fill(item.DefaultRequest, item.Default)
	fill(item.DefaultRequest, item.Min)
}

// fill adds the quantities that a list lacks.
func fill(list, from corev1.ResourceList) {
	for name, q := range from {
		if _, ok := list[name]; !ok {
			list[name] = q.DeepCopy()
		}
	}
}
