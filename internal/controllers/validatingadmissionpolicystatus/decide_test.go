package validatingadmissionpolicystatus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/discovery"
)

func TestDecisions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		observed, generation int64
		wait                 time.Duration
		want                 string
	}{
		"new policy":           {0, 1, 0, "[apply 1 warnings of generation 1 to validatingadmissionpolicy/p]"},
		"changed policy":       {1, 2, 0, "[apply 1 warnings of generation 2 to validatingadmissionpolicy/p]"},
		"overwritten status":   {1, 2, time.Second, "[requeue after 1s]"},
		"checked policy":       {2, 2, 0, "[]"},
		"status of the future": {3, 2, time.Second, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy := &admissionv1.ValidatingAdmissionPolicy{
				ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: test.generation},
				Status:     statusOf(test.observed, nil),
			}
			next := statusOf(test.generation, &admissionv1.TypeChecking{
				ExpressionWarnings: make([]admissionv1.ExpressionWarning, 1)})
			if got := fmt.Sprint(decide(policy, next, test.wait)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// resourceOf returns a resource of discovery.
func resourceOf(group, version, plural, singular, kind string) discovery.Version {
	return discovery.Version{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version,
		Resource: plural}, Singular: singular, Kind: kind}
}

// rule returns a rule for lists that are separated by commas.
func rule(groups, versions, resources string) (r admissionv1.NamedRuleWithOperations) {
	r.APIGroups, r.APIVersions = strings.Split(groups, ","), strings.Split(versions, ",")
	r.Resources = strings.Split(resources, ",")
	return r
}

func TestMatchedKinds(t *testing.T) {
	t.Parallel()
	served := []discovery.Version{
		resourceOf("", "v1", "pods", "pod", "Pod"), resourceOf("", "v1", "events", "event", "Event"),
		resourceOf("apps", "v1", "deployments", "deployment", "Deployment"),
		resourceOf("apps", "v1beta1", "deployments", "deployment", "Deployment"),
		resourceOf("events.k8s.io", "v1", "events", "event", "Event"),
	}
	for i := range 20 {
		n := fmt.Sprintf("%02d", i)
		served = append(served, resourceOf("many", "v1", "kinds"+n, "kind"+n, "Kind"+n))
	}
	k := newKinds(served)
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("kinds%02d", 19-i))
	}
	type rules = []admissionv1.NamedRuleWithOperations
	for name, test := range map[string]struct {
		rules rules
		want  string
	}{
		"one": {rules{rule("apps", "v1", "deployments")}, "apps/v1/Deployment"},
		"sorted, each once": {rules{rule("apps,", "v1beta1,v1", "pods,deployments"), rule("apps", "v1", "deployments")},
			"/v1/Pod apps/v1/Deployment apps/v1beta1/Deployment"},
		"singular, in capitals": {rules{rule("apps", "v1", "Deployment")}, "apps/v1/Deployment"},
		"without a group":       {rules{rule("", "v1", "events")}, "/v1/Event events.k8s.io/v1/Event"},
		"not served":            {rules{rule("apps", "v2", "deployments"), rule("ships", "v1", "pods")}, ""},
		"wildcard groups":       {rules{rule("apps,*", "v1", "deployments"), rule("", "v1", "pods")}, "/v1/Pod"},
		"wildcard versions":     {rules{rule("apps", "*", "deployments")}, ""},
		"wildcards and subresources": {rules{rule("apps", "v1", "*,deployments/scale,*/*,deployments")},
			"apps/v1/Deployment"},
		"ten of a rule": {rules{rule("many", "v1", strings.Join(many, ",")), rule("apps", "v1", "deployments")},
			"many/v1/Kind00 many/v1/Kind01 many/v1/Kind02 many/v1/Kind03 many/v1/Kind04 many/v1/Kind05 " +
				"many/v1/Kind06 many/v1/Kind07 many/v1/Kind08 many/v1/Kind09"},
		"none": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, kind := range k.matched(test.rules) {
				got = append(got, kind.Group+"/"+kind.Version+"/"+kind.Kind)
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestLookupsAreLimited matches a rule that names a billion resources, none of which exists in the named version.
func TestLookupsAreLimited(t *testing.T) {
	t.Parallel()
	var served []discovery.Version
	var names []string
	for i := range 1_000 {
		n := strconv.Itoa(i)
		names = append(names, "n"+n)
		served = append(served, resourceOf("n"+n, "n"+n, "n"+n+"s", "n"+n, "N"+n))
	}
	all := strings.Join(names, ",")
	if got := newKinds(served).matched([]admissionv1.NamedRuleWithOperations{rule(all, all, all)}); len(got) > 10 {
		t.Errorf("got %d kinds, want at most 10", len(got))
	}
}

func TestKindsAndWarningsAreLimited(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ variables, expressions, length, want int }{
		{0, 0, 0, maxKinds}, {0, 1, 100, maxKinds}, {50, 50, 10, 20}, {0, 500, 10, 4}, {0, 10_000, 1, 1},
		{0, 1, maxRead / 10, 10}, {1, 1, maxRead, 1},
	} {
		text := strings.Repeat("a", test.length)
		variables := slices.Repeat([]admissionv1.Variable{{Expression: text}}, test.variables)
		if got := maxKindsFor(variables, slices.Repeat([]expression{{"", text}}, test.expressions)); got != test.want {
			t.Errorf("%+v: got %d kinds", test, got)
		}
	}
	expressions := []expression{{ref: "a"}, {ref: "b"}, {ref: "c"}}
	long := strings.Repeat("€", maxText)
	want := []admissionv1.ExpressionWarning{
		{FieldRef: "a", Warning: long[:maxText/9*3]}, {FieldRef: "c", Warning: "short"},
	}
	if diff := cmp.Diff(want, warningsOf(expressions, []string{long, "", "short"})); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// widget is a kind of the documents in this file.
var widget = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

// documentOf returns a document with a schema of the kind Widget, whose spec is given, and with other schemas.
func documentOf(t *testing.T, spec string, others ...string) *document {
	t.Helper()
	d, err := newDocument([]byte(`{"components":{"schemas":{"Widget":{"type":"object","properties":{"spec":` + spec +
		`},"x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Widget"}]}` +
		strings.Join(append([]string{""}, others...), ",") + `}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	object := func(properties string) string { return `{"type":"object","properties":{` + properties + `}}` }
	var chain, deep []string // 2^40 fields if a schema was copied for each reference to it; 200 levels
	for i := range 40 {
		next := fmt.Sprintf(`{"$ref":"#/components/schemas/s%d"}`, i+1)
		chain = append(chain, fmt.Sprintf(`"s%d":%s`, i, object(`"a":`+next+`,"b":`+next)))
	}
	chain = append(chain, `"s40":{"type":"string"}`)
	for i := range 200 {
		deep = append(deep, fmt.Sprintf(`"s%d":%s`, i, object(fmt.Sprintf(`"a":{"$ref":"#/components/schemas/s%d"}`, i+1))))
	}
	deep = append(deep, `"s200":{"type":"string"}`)
	for name, test := range map[string]struct {
		document   *document
		expression string
		want       string // a part of the result; - without a type
	}{
		"a field":  {documentOf(t, object(`"a":{"type":"string"}`)), "object.spec.a == 'b'", ""},
		"no field": {documentOf(t, object(`"a":{"type":"string"}`)), "object.spec.b == 'b'", "undefined field 'b'"},
		"reference": {documentOf(t, `{"$ref":"#/components/schemas/S"}`, `"S":`+object(`"a":{"type":"integer"}`)),
			"object.spec.a == 'b'", "'(int, string)'"},
		"reference in allOf": {documentOf(t, `{"default":{},"allOf":[{"$ref":"#/components/schemas/S"}]}`,
			`"S":`+object(`"a":{"type":"integer"}`)), "object.spec.a == 'b'", "'(int, string)'"},
		"items and values": {documentOf(t, object(`"a":{"type":"array","items":{"type":"object",`+
			`"additionalProperties":{"$ref":"#/components/schemas/S"}}}`), `"S":{"type":"boolean"}`),
			"object.spec.a[0]['b'] == 1", "'(bool, int)'"},
		"a schema that contains itself": {documentOf(t, `{"$ref":"#/components/schemas/S"}`,
			`"S":`+object(`"a":{"$ref":"#/components/schemas/S"},"b":{"type":"string"}`)),
			"object.spec.a.b == object.spec.b", "undefined field 'b'"},
		"a missing schema":  {documentOf(t, `{"$ref":"#/components/schemas/S"}`), "true", "-"},
		"an invalid schema": {documentOf(t, `{"type":7}`), "true", "-"},
		"a large schema":    {documentOf(t, `{"$ref":"#/components/schemas/s0"}`, chain...), "true", "-"},
		"a deep schema":     {documentOf(t, `{"$ref":"#/components/schemas/s0"}`, deep...), "true", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			declared, found := test.document.declare(widget, "0")
			if found == (test.want == "-") {
				t.Fatalf("found: got %t", found)
			}
			if !found {
				return
			}
			results := make([]string, 1)
			if err := (declarations{}).check(t.Context(), widget, declared, []expression{{"", test.expression}},
				results); err != nil {
				t.Fatal(err)
			}
			if got := results[0]; !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if _, found := documentOf(t, object("")).declare(widget.GroupVersion().WithKind("Gadget"), "0"); found {
		t.Error("got a type for a kind that the document does not have")
	}
}

// A check ends when its context does, and a type that is not known may have any field.
func TestCheck(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	all, results := []expression{{"a", "object.b.c == params.d && variables.e == 1 && variables.f > 1"}}, make([]string, 1)
	declared := declarations{paramKind: widget, variables: []admissionv1.Variable{{Name: "e", Expression: "'a'"},
		{Name: "f", Expression: "object.none +"}}}
	if err := declared.check(ctx, widget, nil, all, results); err != nil {
		t.Fatal(err)
	}
	if want := "example.com/v1, Kind=Widget: ERROR: <input>:1:39: found no matching overload for '_==_' applied to " +
		"'(string, int)'\n"; !strings.HasPrefix(results[0], want) {
		t.Errorf("got %q, want the prefix %q", results[0], want)
	}
	cancel()
	if err := declared.check(ctx, widget, nil, all, results); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want that of the context", err)
	}
}

func TestParamKind(t *testing.T) {
	t.Parallel()
	for apiVersion, want := range map[string]schema.GroupVersionKind{
		"v1": {Version: "v1", Kind: "A"}, "b/v1": {Group: "b", Version: "v1", Kind: "A"}, "a/b/c": {},
	} {
		policy := &admissionv1.ValidatingAdmissionPolicy{}
		if got := paramKind(policy); !got.Empty() {
			t.Errorf("no parameters: got %v", got)
		}
		policy.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: apiVersion, Kind: "A"}
		if got := paramKind(policy); got != want {
			t.Errorf("%s: got %v, want %v", apiVersion, got, want)
		}
	}
}
