package scheduling

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestPriorityClassRules checks the rules of ValidatePriorityClass and ValidatePriorityClassUpdate
// (pkg/apis/scheduling/validation).
func TestPriorityClassRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(pc, old *schedulingv1.PriorityClass)
		update bool
		want   string
	}{
		"a class as it should be": {func(_, _ *schedulingv1.PriorityClass) {}, false, ""},
		"a user's value": {func(pc, _ *schedulingv1.PriorityClass) { pc.Value = highestUserPriority + 1 }, false,
			"value: Forbidden: maximum allowed value of a user defined priority is 1000000000"},
		"a name of the system's": {func(pc, _ *schedulingv1.PriorityClass) { pc.Name = "system-x" }, false,
			"metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a known system priority class"},
		"a system class with another value": {func(pc, _ *schedulingv1.PriorityClass) {
			pc.Name = "system-node-critical"
		}, false,
			"metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-node-critical PriorityClass must be 2000001000"},
		"a policy that is none": {func(pc, _ *schedulingv1.PriorityClass) {
			p := corev1.PreemptionPolicy("Maybe")
			pc.PreemptionPolicy = &p
		}, false,
			`preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never"`},
		"the value stays": {func(pc, _ *schedulingv1.PriorityClass) { pc.Value++ }, true,
			"value: Forbidden: may not be changed in an update."},
		"the policy stays": {func(pc, _ *schedulingv1.PriorityClass) {
			p := corev1.PreemptNever
			pc.PreemptionPolicy = &p
		}, true,
			`preemptionPolicy: Invalid value: "Never": field is immutable`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := priorityClassKind(object.NewCache(1))
			pc := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}
			defaultPriorityClass(pc)
			old := pc.DeepCopy()
			c.change(pc, old)
			errs := k.Validate(t.Context(), pc, nil, "")
			if c.update {
				errs = k.Validate(t.Context(), pc, old, "")
			}
			got := ""
			if len(errs) > 0 {
				got = errs.ToAggregate().Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestSystemClassesAreValid(t *testing.T) {
	t.Parallel()
	k := priorityClassKind(object.NewCache(1))
	for _, pc := range SystemClasses() {
		defaultPriorityClass(pc)
		if errs := k.Validate(t.Context(), pc, nil, ""); len(errs) > 0 {
			t.Errorf("%s: %v", pc.Name, errs.ToAggregate())
		}
	}
}
