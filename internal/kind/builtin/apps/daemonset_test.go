package apps

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

func TestDaemonSetRules(t *testing.T) {
	t.Parallel()
	k := daemonSetKind(object.NewCache(1 << 20))
	checkRules(t, k, "", []rule{
		{"the least that it needs", "", ``, `{}`, ``},
		{"a selector is there", "ValidateDaemonSetSpec", ``, `spec: {selector: null}`,
			"spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`"},
		{"a selector says something", "ValidateDaemonSetSpec", ``, `spec: {selector: {matchLabels: null}}`,
			`spec.selector: Invalid value: {}: empty selector is invalid for daemonset`},
		{"a selector finds the template's pods", "ValidateDaemonSetSpec", ``,
			`spec: {selector: {matchLabels: {app: b}}}`,
			"spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`"},
		{"a strategy is known", "ValidateDaemonSetUpdateStrategy", ``, `spec: {updateStrategy: {type: Recreate}}`,
			`spec.updateStrategy: Unsupported value: {"Type":"Recreate","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"`},
		{"who waits for deletes may say how it would roll", "ValidateDaemonSetUpdateStrategy", ``,
			`spec: {updateStrategy: {type: OnDelete, rollingUpdate: {maxSurge: 1}}}`, ``},
		{"one after the other, or beside it", "ValidateRollingUpdateDaemonSet", ``,
			`spec: {updateStrategy: {rollingUpdate: {maxSurge: 1}}}`,
			`spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero`},
		{"something happens", "ValidateRollingUpdateDaemonSet", ``,
			`spec: {updateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0%}}}`,
			`spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`},
		{"there is no more than all", "ValidateRollingUpdateDaemonSet", ``,
			`spec: {updateStrategy: {rollingUpdate: {maxSurge: 101%, maxUnavailable: 0}}}`,
			`spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "101%": must not be greater than 100%`},
		{"beside it", "", ``, `spec: {updateStrategy: {rollingUpdate: {maxSurge: 10%, maxUnavailable: 0}}}`, ``},
		{"pods run on and on", "ValidateDaemonSetSpec", ``,
			`spec: {template: {spec: {restartPolicy: Never, activeDeadlineSeconds: 1}}}`,
			`[spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always", ` +
				`spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported]`},
		{"time to be ready is some", "ValidateDaemonSetSpec", ``, `spec: {minReadySeconds: -1}`,
			`spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0`},
		{"a history has a length", "ValidateDaemonSetSpec", ``, `spec: {revisionHistoryLimit: -1}`,
			`spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0`},
		{"a number of templates is one", "Convert_v1_DaemonSet_To_apps_DaemonSet", ``,
			`metadata: {annotations: {deprecated.daemonset.template.generation: many}}`,
			`metadata.annotations[deprecated.daemonset.template.generation]: Invalid value: "many": must be an integer, or left to the server`},
		{"a selector stays", "ValidateDaemonSetSpecUpdate", `{}`,
			`spec: {selector: {matchLabels: {app: a, b: c}}, template: {metadata: {labels: {app: a, b: c}}}}`,
			`spec.selector: Invalid value: {"matchLabels":{"app":"a","b":"c"}}: field is immutable`},
		{"a template may change", "", `{}`, `spec: {template: {spec: {containers: [{name: d, image: j}]}}}`, ``},
	})
	checkRules(t, k, "status", []rule{
		{"a number of nodes is one", "validateDaemonSetStatus", ``, `status: {numberReady: -1}`,
			`status.numberReady: Invalid value: -1: must be greater than or equal to 0`},
		{"collisions are counted up", "ValidateDaemonSetStatusUpdate", `status: {collisionCount: 2}`,
			`status: {collisionCount: 1}`,
			`status.collisionCount: Invalid value: 1: cannot be decremented`},
		{"a right status", "", ``, `status: {desiredNumberScheduled: 2, numberReady: 1}`, ``},
	})
}

func TestDaemonSetTemplateGeneration(t *testing.T) {
	t.Parallel()
	k := daemonSetKind(object.NewCache(1 << 20))
	const number, other = `metadata: {annotations: {deprecated.daemonset.template.generation: "%d"}}`,
		`spec: {template: {spec: {containers: [{name: d, image: j}]}}}`
	for _, c := range []struct{ what, was, is, sub, want string }{
		{what: "created", is: `{}`, want: "1"},
		{what: "restored with its number", is: fmt.Sprintf(number, 7), want: "7"},
		{what: "created with no number that counts", is: fmt.Sprintf(number, -7), want: "1"},
		{what: "scaled, the annotation left out", was: fmt.Sprintf(number, 7), is: `spec: {minReadySeconds: 1}`,
			want: "7"},
		{what: "claimed to be newer", was: fmt.Sprintf(number, 7), is: fmt.Sprintf(number, 9), want: "7"},
		{what: "another template", was: fmt.Sprintf(number, 7), is: other, want: "8"},
		{what: "a status", was: fmt.Sprintf(number, 7), is: `status: {numberReady: 1}`, sub: "status", want: "7"},
	} {
		obj := created(t, k, c.is).(*appsv1.DaemonSet)
		if c.was == "" {
			k.Prepare(obj, nil, c.sub)
		} else {
			k.Prepare(obj, created(t, k, c.was), c.sub)
		}
		if got := obj.Annotations["deprecated.daemonset.template.generation"]; got != c.want {
			t.Errorf("%s: template generation %s, want %s", c.what, got, c.want)
		}
	}
}

func TestDaemonSetTemplateWarnings(t *testing.T) {
	t.Parallel()
	k := daemonSetKind(object.NewCache(1 << 20))
	obj := created(t, k, `spec: {template: {spec: {terminationGracePeriodSeconds: -1}}}`)
	k.Prepare(obj, nil, "")
	want := `[spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1]`
	if got := fmt.Sprint(k.Warnings(obj, nil, "")); got != want {
		t.Errorf("warnings of the create %s, want %s", got, want)
	}
	if got := k.Warnings(obj, obj, ""); len(got) > 0 {
		t.Errorf("an update that leaves the template warns: %q", got)
	}
}
