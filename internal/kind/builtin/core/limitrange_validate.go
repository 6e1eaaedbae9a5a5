package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// maxLimitErrors is the number of errors after which the rest of a limit range is no longer validated. It bounds the
// cost of very many invalid limits.
const maxLimitErrors = 1000

func validateLimitRange(l, _ *corev1.LimitRange, _ string) field.ErrorList {
	errs := fieldcheck.Finalizers(l)
	path := field.NewPath("spec", "limits")
	seen := map[corev1.LimitType]bool{}
	for i := range l.Spec.Limits {
		if len(errs) >= maxLimitErrors {
			break
		}
		item, at := &l.Spec.Limits[i], path.Index(i)
		errs = append(errs, limitType(item.Type, at.Child("type"))...)
		if seen[item.Type] {
			errs = append(errs, field.Duplicate(at.Child("type"), item.Type))
		}
		seen[item.Type] = true
		errs = append(errs, validateLimitNames(item, at)...)
		errs = append(errs, validateLimitValues(item, at)...)
	}
	return errs
}

// limitType validates the type of the limited objects, which must be a standard type or have a domain.
func limitType(t corev1.LimitType, path *field.Path) field.ErrorList {
	if errs := fieldcheck.Invalid(path, t, validation.IsQualifiedName(string(t))); errs != nil {
		return errs
	}
	switch {
	case strings.Contains(string(t), "/"), t == corev1.LimitTypePod, t == corev1.LimitTypeContainer,
		t == corev1.LimitTypePersistentVolumeClaim:
		return nil
	}
	return field.ErrorList{field.Invalid(path, t, "must be a standard limit type or fully qualified")}
}

// validateLimitNames validates the names of the resources, and which lists the type of an item must or cannot have.
func validateLimitNames(item *corev1.LimitRangeItem, path *field.Path) (errs field.ErrorList) {
	validate := func(list corev1.ResourceList, name string) {
		for _, key := range fieldcheck.SortedKeys(list) {
			if len(errs) >= maxLimitErrors {
				return
			}
			errs = append(errs, limitedResource(item.Type, key, path.Child(name).Key(string(key)))...)
		}
	}
	validate(item.Max, "max")
	validate(item.Min, "min")
	if item.Type == corev1.LimitTypePod {
		const reason = "may not be specified when `type` is 'Pod'"
		if len(item.Default) > 0 {
			errs = append(errs, field.Forbidden(path.Child("default"), reason))
		}
		if len(item.DefaultRequest) > 0 {
			errs = append(errs, field.Forbidden(path.Child("defaultRequest"), reason))
		}
	} else {
		validate(item.Default, "default")
		validate(item.DefaultRequest, "defaultRequest")
	}
	if item.Type == corev1.LimitTypePersistentVolumeClaim {
		_, least := item.Min[corev1.ResourceStorage]
		_, most := item.Max[corev1.ResourceStorage]
		if !least && !most {
			errs = append(errs, field.Required(path.Child("limits"),
				"either minimum or maximum storage value is required, but neither was provided"))
		}
	}
	validate(item.MaxLimitRequestRatio, "maxLimitRequestRatio")
	return errs
}

// limitedResource validates the name of a resource. Limits of pods and containers allow fewer names than those of other
// types.
func limitedResource(t corev1.LimitType, name corev1.ResourceName, path *field.Path) field.ErrorList {
	if t != corev1.LimitTypePod && t != corev1.LimitTypeContainer {
		return podspec.ValidateResourceName(name, path)
	}
	return podspec.ValidateContainerResource(name, path)
}

// validateLimitValues compares the quantities of each resource.
func validateLimitValues(item *corev1.LimitRangeItem, path *field.Path) (errs field.ErrorList) {
	lists := []corev1.ResourceList{item.Max, item.Min, item.MaxLimitRequestRatio}
	if item.Type != corev1.LimitTypePod {
		lists = append(lists, item.Default, item.DefaultRequest)
	}
	names := map[corev1.ResourceName]bool{}
	for _, list := range lists {
		for name := range list {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if len(errs) >= maxLimitErrors {
			break
		}
		errs = append(errs, validateLimitBounds(item, name, path)...)
		errs = append(errs, validateLimitRatio(item, name, path.Child("maxLimitRequestRatio").Key(string(name)))...)
		limit, request := defaultLimits(item, name)
		if (!podspec.IsNative(name) || podspec.IsHugePages(name)) && limit.set && request.set &&
			limit.q.Cmp(request.q) != 0 {
			errs = append(errs, field.Invalid(path.Child("defaultRequest").Key(string(name)), request.q,
				fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", limit.q.String(),
					request.q.String(), name)))
		}
	}
	return errs
}

// bound is an optional quantity of a resource; text is its name in messages.
type bound struct {
	text string
	q    resource.Quantity
	set  bool
}

func boundOf(text string, list corev1.ResourceList, name corev1.ResourceName) *bound {
	q, set := list[name]
	return &bound{text, q, set}
}

// defaultLimits returns the default limit and the default request, which the type Pod does not have.
func defaultLimits(item *corev1.LimitRangeItem, name corev1.ResourceName) (limit, request *bound) {
	if item.Type == corev1.LimitTypePod {
		return &bound{}, &bound{}
	}
	return boundOf("default value", item.Default, name), boundOf("default request value", item.DefaultRequest, name)
}

// validateLimitBounds requires minimum <= default request <= default limit <= maximum. The errors of a default limit
// show the violated bound as the value.
func validateLimitBounds(item *corev1.LimitRangeItem, name corev1.ResourceName,
	path *field.Path) (errs field.ErrorList) {
	least, most := boundOf("min value", item.Min, name), boundOf("max value", item.Max, name)
	limit, request := defaultLimits(item, name)
	limitOfRequest := *limit
	limitOfRequest.text = "default limit value"
	for _, rule := range []struct {
		field            string
		shown, low, high *bound
	}{
		{"min", least, least, most},
		{"defaultRequest", request, least, request},
		{"defaultRequest", request, request, most},
		{"defaultRequest", request, request, &limitOfRequest},
		{"default", least, least, limit},
		{"default", most, limit, most},
	} {
		if rule.low.set && rule.high.set && rule.low.q.Cmp(rule.high.q) > 0 {
			errs = append(errs, field.Invalid(path.Child(rule.field).Key(string(name)), rule.shown.q,
				fmt.Sprintf("%s %s is greater than %s %s", rule.low.text, rule.low.q.String(), rule.high.text,
					rule.high.q.String())))
		}
	}
	return errs
}

// validateLimitRatio validates the maximum ratio of limit and request: it must be at least 1, and at most the ratio of
// maximum and minimum.
func validateLimitRatio(item *corev1.LimitRangeItem, name corev1.ResourceName,
	path *field.Path) (errs field.ErrorList) {
	ratio, ok := item.MaxLimitRequestRatio[name]
	if !ok {
		return nil
	}
	if ratio.CmpInt64(1) < 0 {
		errs = append(errs, field.Invalid(path, ratio, fmt.Sprintf("ratio %s is less than 1", ratio.String())))
	}
	least, hasMin := item.Min[name]
	most, hasMax := item.Max[name]
	if !hasMin || !hasMax {
		return errs
	}
	value, low, high := float64(ratio.Value()), least.Value(), most.Value()
	if max(ratio.Value(), low, high) < resource.MaxMilliValue {
		value, low, high = float64(ratio.MilliValue())/1000, least.MilliValue(), most.MilliValue()
	}
	if greatest := float64(high) / float64(low); value > greatest {
		errs = append(errs, field.Invalid(path, ratio,
			fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), greatest)))
	}
	return errs
}
