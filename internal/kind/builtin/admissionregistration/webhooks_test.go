package admissionregistration

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// kinds returns the mutating and the validating kind.
func kinds() (mutating, validating kind.Kind) {
	both := Kinds(object.NewCache(1 << 20))
	return both[0], both[1]
}

func read(t *testing.T, k kind.Kind, apiVersion, body string) kind.Object {
	t.Helper()
	obj, strict, err := k.DecodeRequest(object.Form{APIVersion: apiVersion}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	return obj
}

// hook returns a valid webhook in which JSON members are replaced.
func hook(members ...string) string {
	good := map[string]string{
		"name": `"a.example.com"`, "clientConfig": `{"url":"https://example.com/x"}`, "sideEffects": `"None"`,
		"admissionReviewVersions": `["v1"]`,
	}
	for _, m := range members {
		name, value, _ := strings.Cut(m, ":")
		good[strings.Trim(name, `"`)] = value
	}
	var parts []string
	for name, value := range good {
		if value != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", name, value))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// rules returns a hook with one valid rule in which JSON members are replaced.
func rules(members ...string) string {
	rule := map[string]string{
		"operations": `["*"]`, "apiGroups": `["*"]`, "apiVersions": `["*"]`, "resources": `["*"]`,
	}
	for _, m := range members {
		name, value, _ := strings.Cut(m, ":")
		rule[name] = value
	}
	var parts []string
	for name, value := range rule {
		parts = append(parts, fmt.Sprintf("%q:%s", name, value))
	}
	return hook(`"rules":[{` + strings.Join(parts, ",") + `}]`)
}

func configuration(hooks ...string) string { return `{"webhooks":[` + strings.Join(hooks, ",") + `]}` }

// TestWebhookRules follows validation_test.go of Kubernetes' pkg/apis/admissionregistration.
func TestWebhookRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ hooks, want []string }{
		"nothing":          {[]string{hook(), hook(`"name":"b.example.com"`)}, nil},
		"all subresources": {[]string{rules(`resources:["*/*"]`)}, nil},
		"the same name twice": {[]string{hook(), hook()},
			[]string{`webhooks[1].name: Duplicate value: "a.example.com"`}},
		"no side effects said": {[]string{hook(`"sideEffects":`)}, []string{
			"webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"}},
		"no versions": {[]string{hook(`"admissionReviewVersions":[]`)}, []string{
			"webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"}},
		"a version twice": {[]string{hook(`"admissionReviewVersions":["v1","v1"]`)}, []string{
			`webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version`}},
		"a future version beside": {[]string{hook(`"admissionReviewVersions":["v2","v1"]`)}, nil},
		"too long a timeout": {[]string{hook(`"timeoutSeconds":31`)}, []string{
			"webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"}},
		"no timeout": {[]string{hook(`"timeoutSeconds":0`)}, []string{
			"webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds"}},
		"an unknown failure policy": {[]string{hook(`"failurePolicy":"Maybe"`)}, []string{
			`webhooks[0].failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"`}},
		"an unknown match policy": {[]string{hook(`"matchPolicy":"Maybe"`)}, []string{
			`webhooks[0].matchPolicy: Unsupported value: "Maybe": supported values: "Equivalent", "Exact"`}},
		"a plain URL": {[]string{hook(`"clientConfig":{"url":"http://example.com"}`)}, []string{
			`webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`}},
		// As in Kubernetes, the error names the other field.
		"a service without a name": {[]string{hook(`"clientConfig":{"service":{"name":"","namespace":"n","port":0}}`)},
			[]string{
				"webhooks[0].clientConfig.service.namespace: Required value",
				"webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"}},
		"a selector": {[]string{hook(`"objectSelector":{"matchLabels":{"a b":"c"}}`)}, []string{
			`webhooks[0].objectSelector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		"a wildcard among groups": {[]string{rules(`apiGroups:["*","apps"]`)}, []string{
			`webhooks[0].rules[0].apiGroups: Invalid value: ["*","apps"]: if '*' is present, must not specify other API groups`}},
		"an empty version": {[]string{rules(`apiVersions:[""]`)},
			[]string{"webhooks[0].rules[0].apiVersions[0]: Required value"}},
		"a subresource twice": {[]string{rules(`resources:["pods/*","pods/status","*/scale","a/scale"]`)}, []string{
			`webhooks[0].rules[0].resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status`,
			`webhooks[0].rules[0].resources[3]: Invalid value: "a/scale": if '*/scale' is present, must not specify a/scale`}},
		"a wildcard among resources": {[]string{rules(`resources:["*","pods"]`)}, []string{
			`webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources`}},
		"a scope": {[]string{rules(`scope:"Here"`)}, []string{
			`webhooks[0].rules[0].scope: Unsupported value: "Here": supported values: "*", "Cluster", "Namespaced"`}},
		"good conditions": {[]string{hook(`"matchConditions":[{"name":"a","expression":"request.userInfo.username != 'ann'"},{"name":"b.example.com/c","expression":"has(object.metadata) && authorizer.group('').resource('pods').check('get').allowed()"}]`)}, nil},
		"conditions that are long in all": {[]string{
			hook(`"matchConditions":[{"name":"a","expression":"` + strings.Repeat("x", 8_000) + `"}]`),
			hook(`"name":"b.example.com"`, `"matchConditions":[{"name":"a","expression":"`+strings.Repeat("x", 8_000)+`"}]`)},
			[]string{"webhooks: Invalid value: the match conditions are too long to compile, or their types too large: they cost " +
				"128000000, and may cost 100000000"}},
		"conditions": {[]string{hook(`"matchConditions":[{"name":"a","expression":"object."},{"name":"a","expression":" "},{"name":"c","expression":"1"}]`)}, []string{
			"webhooks[0].matchConditions[0].expression: Invalid value: \"object.\": compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'\n | object.\n | .......^",
			`webhooks[0].matchConditions[1].expression: Required value`,
			`webhooks[0].matchConditions[1].name: Duplicate value: "a"`,
			`webhooks[0].matchConditions[2].expression: Invalid value: "1": must evaluate to bool but got int`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, v := kinds()
			for _, k := range []kind.Kind{m, v} {
				var got []string
				for _, e := range k.Validate(t.Context(), read(t, k, hub, configuration(c.hooks...)), nil, "") {
					got = append(got, e.Error())
				}
				if diff := gocmp.Diff(c.want, got); diff != "" {
					t.Errorf("errors of %s (-want +got):\n%s", k.Info().Kind, diff)
				}
			}
		})
	}
}

// TestLegacyWebhooks checks that v1beta1 configurations have the defaults of v1beta1, are served in v1, and
// may retain values that v1beta1 allowed.
func TestLegacyWebhooks(t *testing.T) {
	t.Parallel()
	m, _ := kinds()
	body := configuration(hook(`"sideEffects":`, `"admissionReviewVersions":`))
	obj := read(t, m, legacy, body)
	if errs := m.Validate(t.Context(), obj, nil, ""); len(errs) > 0 {
		t.Errorf("a valid v1beta1 configuration is rejected: %v", errs)
	}
	w := obj.(*mutating).Webhooks[0]
	got := fmt.Sprint(*w.FailurePolicy, *w.MatchPolicy, *w.SideEffects, *w.TimeoutSeconds, w.AdmissionReviewVersions,
		*w.ReinvocationPolicy)
	if want := "IgnoreExactUnknown30[v1beta1]Never"; strings.ReplaceAll(got, " ", "") != want {
		t.Errorf("the defaults are %s, want %s", got, want)
	}
	data, err := m.Encode(object.Form{APIVersion: hub}, obj)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := m.Decode(object.Form{APIVersion: hub}, data)
	if err != nil {
		t.Fatal(err)
	}
	again := stored.DeepCopyObject().(kind.Object)
	if errs := m.Validate(t.Context(), again, stored.(kind.Object), ""); len(errs) > 0 {
		t.Errorf("an update in v1 rejects values that v1beta1 allowed: %v", errs)
	}
	if errs := m.Validate(t.Context(), again, nil, ""); len(errs) != 1 {
		t.Errorf("errors of a create in v1: %v, want one about the side effects", errs)
	}
	shown, err := m.Convert(again, legacy)
	if err != nil ||
		shown.GetObjectKind().GroupVersionKind().String() != "admissionregistration.k8s.io/v1beta1, Kind=MutatingWebhookConfiguration" {
		t.Errorf("v1beta1 shows %v (%v)", shown, err)
	}
}

// TestStoredInvalidConditionIsRetained checks that an invalid condition is accepted on update only if the old object
// has it.
func TestStoredInvalidConditionIsRetained(t *testing.T) {
	t.Parallel()
	_, v := kinds()
	old := read(t, v, hub, configuration(hook(`"matchConditions":[{"name":"a","expression":"object."}]`)))
	changed := old.DeepCopyObject().(kind.Object)
	changed.(*validating).Webhooks[0].TimeoutSeconds = new(int32(3))
	if errs := v.Validate(t.Context(), changed, old, ""); len(errs) > 0 {
		t.Errorf("an update rejects the stored condition: %v", errs)
	}
	c := &changed.(*validating).Webhooks[0]
	c.MatchConditions = append(c.MatchConditions, admissionv1.MatchCondition{Name: "b", Expression: "true"})
	if errs := v.Validate(t.Context(), changed, old, ""); len(errs) != 1 {
		t.Errorf("errors of an update with a new condition: %v, want one about the old condition", errs)
	}
}

// TestReservedNameWarnings checks the warning for reserved names.
func TestReservedNameWarnings(t *testing.T) {
	t.Parallel()
	m, v := kinds()
	for _, k := range []kind.Kind{m, v} {
		obj := k.New()
		for name, want := range map[string]int{"a.static.k8s.io": 1, "a.k8s.io": 0} {
			obj.SetName(name)
			if got := k.Warnings(obj, nil, ""); len(got) != want {
				t.Errorf("name %s: warnings %q, want %d", name, got, want)
			}
		}
	}
}
