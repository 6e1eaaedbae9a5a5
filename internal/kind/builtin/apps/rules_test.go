package apps

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// rule is a validation rule: YAML that is merged into a valid workload, and the expected errors. If was is
// set, the write is an update of that. source is a function in Kubernetes' pkg/apis/apps/validation, or a
// recording.
type rule struct{ rule, source, was, is, want string }

const valid = `{metadata: {name: w, generation: 1}, spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i}]}}}}`

// replicated returns the two kinds that have nearly the same rules.
func replicated() []kind.Kind {
	cache := object.NewCache(1 << 20)
	return []kind.Kind{deploymentKind(cache), replicaSetKind(cache)}
}

// created returns the object that a create of valid with these overlays stores.
func created(t *testing.T, k kind.Kind, overlays ...string) kind.Object {
	t.Helper()
	obj := k.New()
	for _, o := range append([]string{valid}, overlays...) {
		if err := yaml.UnmarshalStrict([]byte(o), obj); err != nil {
			t.Fatalf("%s: %v", o, err)
		}
	}
	form := object.Form{APIVersion: "apps/v1", Format: object.JSON}
	data, err := k.Encode(form, obj)
	if err != nil {
		t.Fatal(err)
	}
	obj, _, err = k.DecodeRequest(form, data, true)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func text(errs field.ErrorList) string {
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

func checkRules(t *testing.T, k kind.Kind, sub string, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.rule, func(t *testing.T) {
			t.Parallel()
			var old kind.Object
			if r.was != "" || sub != "" {
				old = created(t, k, r.was)
			}
			if got := text(k.Validate(t.Context(), created(t, k, r.was, r.is), old, sub)); got != r.want {
				t.Errorf("%s (%s):\n got %s\nwant %s", r.rule, r.source, got, r.want)
			}
		})
	}
}

// common are the rules of both replicated kinds.
var common = []rule{
	{"the least that it needs", "", ``, `{}`, ``},
	{"a selector is there", "deployments.json[9]", ``, `spec: {selector: null}`,
		"[spec.selector: Required value, spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`]"},
	{"a selector says something", "ValidateDeploymentSpec", ``, `spec: {selector: {matchLabels: null}}`,
		`spec.selector: Invalid value: {}: empty selector is invalid for deployment`},
	{"a selector finds the template's pods", "deployments.json[10]", ``, `spec: {selector: {matchLabels: {app: b}}}`,
		"spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`"},
	{"a number of pods is one", "deployments.json[11]", ``, `spec: {replicas: -1}`,
		`spec.replicas: Invalid value: -1: must be greater than or equal to 0`},
	{"time to be ready is some", "ValidateDeploymentSpec", ``, `spec: {minReadySeconds: -1}`,
		`spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0`},
	{"pods run on and on", "deployments.json[15]", ``, `spec: {template: {spec: {restartPolicy: Never}}}`,
		`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`},
	{"pods have no deadline", "ValidatePodTemplateSpecForReplicaSet", ``,
		`spec: {template: {spec: {activeDeadlineSeconds: 1}}}`,
		`spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported`},
	{"pods are valid", "ValidatePodTemplateSpec", ``, `spec: {template: {spec: {containers: []}}}`,
		`spec.template.spec.containers: Required value`},
	{"a selector stays", "deployments.json[7]", `{}`,
		`spec: {selector: {matchLabels: {app: a, b: c}}, template: {metadata: {labels: {app: a, b: c}}}}`,
		`spec.selector: Invalid value: {"matchLabels":{"app":"a","b":"c"}}: field is immutable`},
	{"a template may change", "", `{}`, `spec: {template: {spec: {containers: [{name: d, image: j}]}}}`, ``},
}

func TestWorkloadRules(t *testing.T) {
	t.Parallel()
	for _, k := range replicated() {
		t.Run(k.Info().Kind, func(t *testing.T) {
			t.Parallel()
			checkRules(t, k, "", common)
		})
	}
}

func TestDeploymentRules(t *testing.T) {
	t.Parallel()
	checkRules(t, deploymentKind(object.NewCache(1<<20)), "", []rule{
		{"to recreate is not to roll", "deployments.json[12]", ``,
			`spec: {strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}}`,
			"spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"},
		{"a strategy is known", "ValidateDeploymentStrategy", ``, `spec: {strategy: {type: Magic}}`,
			`spec.strategy: Unsupported value: {"Type":"Magic","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"`},
		{"something may be missing, or too many", "deployments.json[13]", ``,
			`spec: {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}}`,
			"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"},
		{"not more than all may be missing", "IsNotMoreThan100Percent", ``,
			`spec: {strategy: {rollingUpdate: {maxUnavailable: 101%}}}`,
			`spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%`},
		{"more than as many again may be too many", "deployments.json[14]", ``,
			`spec: {strategy: {rollingUpdate: {maxSurge: 150%}}}`, ``},
		{"a share is a number or a percentage", "ValidatePositiveIntOrPercent", ``,
			`spec: {strategy: {rollingUpdate: {maxSurge: many}}}`,
			`spec.strategy.rollingUpdate.maxSurge: Invalid value: "many": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`},
		{"a share is not negative", "ValidatePositiveIntOrPercent", ``,
			`spec: {strategy: {rollingUpdate: {maxSurge: -1}}}`,
			`spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0`},
		{"a history has a length", "ValidateDeploymentSpec", ``, `spec: {revisionHistoryLimit: -1}`,
			`spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0`},
		{"progress takes longer than to be ready", "ValidateDeploymentSpec", ``,
			`spec: {minReadySeconds: 10, progressDeadlineSeconds: 10}`,
			`spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds`},
	})
}

func TestWorkloadStatusRules(t *testing.T) {
	t.Parallel()
	for _, k := range replicated() {
		t.Run(k.Info().Kind, func(t *testing.T) {
			t.Parallel()
			checkRules(t, k, "status", []rule{
				{"a generation is one", "ValidateDeploymentStatus", ``, `status: {observedGeneration: -1}`,
					`status.observedGeneration: Invalid value: -1: must be greater than or equal to 0`},
				{"who is ready is there", "ValidateDeploymentStatus", ``, `status: {replicas: 1, readyReplicas: 2}`,
					`status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas`},
				{"who is available is ready", "ValidateDeploymentStatus", ``,
					`status: {replicas: 2, readyReplicas: 1, availableReplicas: 2}`,
					`status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas`},
				{"a right status", "", ``, `status: {replicas: 2, readyReplicas: 2, availableReplicas: 1}`, ``},
			})
		})
	}
	checkRules(t, deploymentKind(object.NewCache(1<<20)), "status", []rule{
		{"collisions are counted up", "ValidateDeploymentStatusUpdate", `status: {collisionCount: 2}`,
			`status: {collisionCount: 1}`,
			`status.collisionCount: Invalid value: 1: cannot be decremented`},
	})
}

func TestScaleReadsAndWritesReplicas(t *testing.T) {
	t.Parallel()
	for _, k := range append(replicated(), statefulSetKind(object.NewCache(1<<20))) {
		obj, scale := created(t, k, `spec: {replicas: 2}`), k.Info().Subresource("scale")
		view, err := scale.View(obj)
		if err != nil {
			t.Fatal(err)
		}
		if s := view.(*autoscalingv1.Scale); s.Name != "w" || s.Spec.Replicas != 2 || s.Status.Selector != "app=a" {
			t.Errorf("%s: the Scale is %+v", k.Info().Kind, s)
		}
		if err := scale.Apply(obj, &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}); err != nil {
			t.Fatal(err)
		}
		if view, err = scale.View(obj); err != nil || view.(*autoscalingv1.Scale).Spec.Replicas != 5 {
			t.Errorf("%s: scaled to %+v %v, want 5", k.Info().Kind, view, err)
		}
		err = scale.Apply(obj, &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: -5}})
		want := `Scale.autoscaling "w" is invalid: spec.replicas: Invalid value: -5: must be greater than or equal to 0`
		if !apierrors.IsInvalid(err) || err.Error() != want {
			t.Errorf("%s: scaled to -5: %v, want %s", k.Info().Kind, err, want)
		}
	}
}

func TestDeploymentAnnotationsIncreaseGeneration(t *testing.T) {
	t.Parallel()
	k := deploymentKind(object.NewCache(1 << 20))
	old := created(t, k)
	for _, r := range []struct {
		change string
		want   int64
	}{
		{`metadata: {annotations: {a: b}}`, 2},
		{`metadata: {labels: {a: b}}`, 1},
		{`spec: {replicas: 3}`, 2},
		{`{metadata: {annotations: {a: b}}, spec: {replicas: 3}}`, 2},
	} {
		obj := created(t, k, r.change)
		k.Prepare(obj, old, "")
		if got := obj.GetGeneration(); got != r.want {
			t.Errorf("%s: generation %d, want %d", r.change, got, r.want)
		}
	}
	obj := created(t, k, `metadata: {labels: {a: b}}`)
	k.Prepare(obj, old, "status")
	if len(obj.GetLabels()) > 0 {
		t.Errorf("a status changed labels: %v", obj.GetLabels())
	}
}

func TestWorkloadWarnings(t *testing.T) {
	t.Parallel()
	for _, k := range replicated() {
		obj := created(t, k, `{metadata: {name: a.b}, 
			spec: {template: {spec: {nodeSelector: {beta.kubernetes.io/os: linux}, terminationGracePeriodSeconds: -1}}}}`)
		got := k.Warnings(obj, nil, "")
		want := []string{
			"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
			`spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`,
			`spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: warnings %q, want %q", k.Info().Kind, got, want)
		}
		if again := k.Warnings(obj, obj, ""); len(again) > 0 {
			t.Errorf("%s: an update that changes nothing warns: %q", k.Info().Kind, again)
		}
	}
}

func TestReplicaSetsAreSelectableByReplicas(t *testing.T) {
	t.Parallel()
	k := replicaSetKind(object.NewCache(1 << 20))
	obj := created(t, k).(*appsv1.ReplicaSet)
	obj.Status.Replicas = 3
	if got := k.Fields(obj)["status.replicas"]; got != "3" {
		t.Errorf("status.replicas: %q, want 3", got)
	}
}
