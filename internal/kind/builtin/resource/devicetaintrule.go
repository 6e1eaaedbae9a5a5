package resource

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// deviceTaintRuleKind returns the kind of rules with which an administrator taints the devices of a driver or pool. A
// PUT needs a resourceVersion.
func deviceTaintRuleKind(cache *object.Cache) kind.Kind {
	docs := resourcev1.DeviceTaint{}.SwaggerDoc()
	return kind.NewTyped(cache, kind.Info{
		Kind: "DeviceTaintRule", Plural: "devicetaintrules", Singular: "devicetaintrule",
		Generation: true, ConditionalUpdate: true,
		Endpoints: []kind.Endpoint{
			{Group: resourcev1.GroupName, Version: "v1"},
			{Group: resourcev1.GroupName, Version: "v1beta2", Unserved: true}, // deprecated in v1.39
		},
		Subresources: statusSubresource(),
	}, kind.Rules[*resourcev1.DeviceTaintRule]{
		Default:  func(r *resourcev1.DeviceTaintRule) { defaultTaint(&r.Spec.Taint) },
		Prepare:  prepareTaintRule,
		Validate: fieldcheck.WithFinalizers(validateTaintRule),
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Key", Type: "string", Description: docs["key"]},
			{Name: "Value", Type: "string", Description: docs["value"]},
			{Name: "Effect", Type: "string", Description: docs["effect"]},
			{Name: "TimeAdded", Type: "string", Description: docs["timeAdded"]},
			kind.AgeColumn,
		},
		Row: taintRuleRow,
	})
}

func taintRuleRow(r *resourcev1.DeviceTaintRule, now time.Time) []any {
	taint, added := &r.Spec.Taint, ""
	if taint.TimeAdded != nil {
		added = kind.Age(taint.TimeAdded.Time, now)
	}
	return []any{r.Name, taint.Key, taint.Value, string(taint.Effect), added, kind.Age(r.CreationTimestamp.Time, now)}
}

// prepareTaintRule renews the time of a taint whose effect changes, unless the user sets another time.
func prepareTaintRule(r, old *resourcev1.DeviceTaintRule, sub string) {
	switch {
	case old == nil:
	case sub == "status":
		restoreMetadata(r, old)
	case r.Spec.Taint.Effect != old.Spec.Taint.Effect && r.Spec.Taint.TimeAdded.Equal(old.Spec.Taint.TimeAdded):
		r.Spec.Taint.TimeAdded = timeAdded()
	}
}

func validateTaintRule(r, old *resourcev1.DeviceTaintRule, sub string) field.ErrorList {
	if sub == "status" {
		return validateTaintRuleStatus(&r.Status, field.NewPath("status", "conditions"))
	}
	var f findings
	path := field.NewPath("spec")
	if s, at := r.Spec.DeviceSelector, path.Child("deviceSelector"); s != nil {
		if s.Driver != nil {
			f.write(driverName(at.Child("driver"), *s.Driver)...)
		}
		if s.Pool != nil {
			f.write(poolName(at.Child("pool"), *s.Pool)...)
		}
		if s.Device != nil {
			f.write(fieldcheck.LabelName(at.Child("device"), *s.Device)...)
		}
	}
	f.add(checkTaint(&r.Spec.Taint, path.Child("taint")))
	// An effect that a newer server stored may remain.
	if old == nil || r.Spec.Taint.Effect != old.Spec.Taint.Effect {
		f.add(checkEffect(&r.Spec.Taint, path.Child("taint")))
	}
	return f.all()
}

func validateTaintRuleStatus(s *resourcev1.DeviceTaintRuleStatus, path *field.Path) field.ErrorList {
	errs := validateConditions(s.Conditions, path)
	if n := len(s.Conditions); n > resourcev1.DeviceTaintRuleStatusMaxConditions {
		errs = append(errs, field.TooMany(path, n, resourcev1.DeviceTaintRuleStatusMaxConditions))
	}
	return errs
}
