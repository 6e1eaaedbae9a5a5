package resource

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// timeAdded returns the time of a new taint, with the precision of its encoding.
func timeAdded() *metav1.Time { return &metav1.Time{Time: time.Now().Truncate(time.Second)} }

func defaultTaint(t *resourcev1.DeviceTaint) {
	if t.TimeAdded == nil {
		t.TimeAdded = timeAdded()
	}
}

// checkTaint checks the key and the value of a taint.
func checkTaint(t *resourcev1.DeviceTaint, path *field.Path) (f findings) {
	f.write(metavalidation.ValidateLabelName(t.Key, path.Child("key"))...)
	f.write(labelValue(path.Child("value"), t.Value)...)
	return f
}

// checkEffect requires the effect of a taint.
func checkEffect(t *resourcev1.DeviceTaint, path *field.Path) (f findings) {
	f.declare(fieldcheck.Choice(path.Child("effect"), t.Effect, effects...)...)
	return f
}

// effects are the supported effects of taints, in the order in which messages list them.
var effects = []resourcev1.DeviceTaintEffect{resourcev1.DeviceTaintEffectNoExecute,
	resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone}

func defaultTolerations(all []resourcev1.DeviceToleration) {
	for i := range all {
		if all[i].Operator == "" {
			all[i].Operator = resourcev1.DeviceTolerationOpEqual
		}
	}
}

func checkToleration(t *resourcev1.DeviceToleration, path *field.Path) (f findings) {
	if t.Key != "" {
		f.declare(format(validate.LabelKey[string], path.Child("key"), t.Key)...)
	}
	f.declare(fieldcheck.Choice(path.Child("operator"), t.Operator, resourcev1.DeviceTolerationOpEqual,
		resourcev1.DeviceTolerationOpExists)...)
	switch value := path.Child("value"); {
	case t.Operator == resourcev1.DeviceTolerationOpExists && t.Value != "":
		f.write(field.Invalid(value, t.Value, "must be empty for operator `Exists`"))
	case t.Operator == resourcev1.DeviceTolerationOpEqual:
		f.write(labelValue(value, t.Value)...)
	}
	if t.Effect != "" {
		f.declare(fieldcheck.OneOf(path.Child("effect"), t.Effect, effects...)...)
	}
	return f
}
