package core

import (
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// templated returns the object that a create stores of YAML merged into a template with one container.
func templated(t *testing.T, k kind.Kind, overlay string) kind.Object {
	t.Helper()
	const template = `template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i}]}}`
	valid := `{metadata: {name: w, generation: 1}, spec: {` + template + `}}`
	if k.Info().Kind == "PodTemplate" {
		valid = `{metadata: {name: w, generation: 1}, ` + template + `}`
	}
	obj := k.New()
	for _, text := range []string{valid, overlay} {
		if err := yaml.UnmarshalStrict([]byte(text), obj); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	form := object.Form{APIVersion: "v1", Format: object.JSON}
	data, err := k.Encode(form, obj)
	if err != nil {
		t.Fatal(err)
	}
	if obj, _, err = k.DecodeRequest(form, data, true); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestReplicationControllerRules(t *testing.T) {
	t.Parallel()
	k := replicationControllerKind(object.NewCache(1 << 20))
	for _, r := range []struct{ rule, source, sub, is, want string }{
		{"the least that it needs", "", "", `{}`, ``},
		{"a template is there", "ValidatePodTemplateSpecForRC", "", `spec: {selector: {app: a}, template: null}`,
			`spec.template: Required value`},
		{"a selector is there", "ValidateNonEmptySelector", "", `spec: {template: {metadata: {labels: null}}}`,
			`spec.selector: Required value`},
		{"a selector finds the template's pods", "ValidatePodTemplateSpecForRC", "", `spec: {selector: {app: b}}`,
			"spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`"},
		{"a number of pods is one", "ValidateReplicationControllerSpec", "",
			`spec: {replicas: -1, minReadySeconds: -1}`,
			`[spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0, spec.replicas: Invalid value: -1: must be greater than or equal to 0]`},
		{"pods run on and on", "ValidatePodTemplateSpecForRC", "",
			`spec: {template: {spec: {restartPolicy: Never, activeDeadlineSeconds: 1}}}`,
			`[spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always", ` +
				`spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicationController is not Supported]`},
		{"who is labeled is there", "ValidateReplicationControllerStatus", "status",
			`status: {replicas: 1, fullyLabeledReplicas: 2}`,
			`status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas`},
		{"who is available is ready", "ValidateReplicationControllerStatus", "status",
			`status: {replicas: 2, readyReplicas: 1, availableReplicas: 2}`,
			`status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas`},
		{"a generation is one", "ValidateReplicationControllerStatus", "status", `status: {observedGeneration: -1}`,
			`status.observedGeneration: Invalid value: -1: must be greater than or equal to 0`},
	} {
		var old kind.Object
		if r.sub != "" {
			old = templated(t, k, `{}`)
		}
		got := ""
		if errs := k.Validate(t.Context(), templated(t, k, r.is), old, r.sub); len(errs) > 0 {
			got = errs.ToAggregate().Error()
		}
		if got != r.want {
			t.Errorf("%s (%s):\n got %s\nwant %s", r.rule, r.source, got, r.want)
		}
	}
}

func TestReplicationControllerDefaultLabels(t *testing.T) {
	t.Parallel()
	k := replicationControllerKind(object.NewCache(1 << 20))
	rc := templated(t, k, `{}`).(*corev1.ReplicationController)
	if rc.Labels["app"] != "a" || rc.Spec.Selector["app"] != "a" || *rc.Spec.Replicas != 1 {
		t.Errorf("defaults: labels %v, selector %v, %d pods", rc.Labels, rc.Spec.Selector, *rc.Spec.Replicas)
	}
	rc.Labels["own"] = "yes"
	if len(rc.Spec.Selector) != 1 || len(rc.Spec.Template.Labels) != 1 {
		t.Errorf("a label of the controller got into its selector %v or its template %v", rc.Spec.Selector,
			rc.Spec.Template.Labels)
	}
	rc = templated(t, k,
		`{metadata: {labels: {b: c}}, spec: {selector: {app: a}, template: {metadata: {labels: {app: a, d: e}}}}}`).(*corev1.ReplicationController)
	if fmt.Sprint(rc.Labels, rc.Spec.Selector) != "map[b:c] map[app:a]" {
		t.Errorf("labels %v and selector %v, want those that were given", rc.Labels, rc.Spec.Selector)
	}
}

func TestReplicationControllerScale(t *testing.T) {
	t.Parallel()
	k := replicationControllerKind(object.NewCache(1 << 20))
	rc, scale := templated(t, k, `{spec: {replicas: 2}, status: {replicas: 1}}`), k.Info().Subresource("scale")
	view, err := scale.View(rc)
	if err != nil {
		t.Fatal(err)
	}
	if s := view.(*autoscalingv1.Scale); s.Spec.Replicas != 2 || s.Status.Replicas != 1 ||
		s.Status.Selector != "app=a" {
		t.Errorf("its Scale is %+v", s)
	}
	if err := scale.Apply(rc, &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}); err != nil {
		t.Fatal(err)
	}
	if n := *rc.(*corev1.ReplicationController).Spec.Replicas; n != 5 {
		t.Errorf("scaled to %d, want 5", n)
	}
	if got := k.Fields(rc)["status.replicas"]; got != "1" {
		t.Errorf("status.replicas: %q, want 1", got)
	}
}

func TestTemplateValidationAndWarnings(t *testing.T) {
	t.Parallel()
	cache := object.NewCache(1 << 20)
	for _, c := range []struct {
		kind          kind.Kind
		path, invalid string
	}{
		{podTemplateKind(cache), "template",
			`template: {spec: {terminationGracePeriodSeconds: -1, containers: [{name: c, image: ""}]}}`},
		{replicationControllerKind(cache), "spec.template",
			`spec: {template: {spec: {terminationGracePeriodSeconds: -1, containers: [{name: c, image: ""}]}}}`},
	} {
		obj := templated(t, c.kind, c.invalid)
		c.kind.Prepare(obj, nil, "")
		want := c.path + ".spec.containers[0].image: Required value"
		if errs := c.kind.Validate(t.Context(), obj, nil, ""); len(errs) != 1 || errs[0].Error() != want {
			t.Errorf("%s: %v, want %s", c.kind.Info().Kind, errs, want)
		}
		warning := c.path +
			".spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
		if got := c.kind.Warnings(obj, nil, ""); len(got) != 1 || got[0] != warning {
			t.Errorf("%s: warnings %q, want %s", c.kind.Info().Kind, got, warning)
		}
		if got := c.kind.Warnings(obj, obj, ""); len(got) > 0 {
			t.Errorf("%s: an update that leaves the template warns: %q", c.kind.Info().Kind, got)
		}
		changed := templated(t, c.kind, `{}`)
		c.kind.Prepare(changed, obj, "")
		if changed.GetGeneration() != 2 {
			t.Errorf("%s: another template makes generation %d, want 2", c.kind.Info().Kind, changed.GetGeneration())
		}
	}
}
