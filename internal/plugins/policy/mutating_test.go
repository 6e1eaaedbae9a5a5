package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

type mutatingSpec = admissionregistrationv1.MutatingAdmissionPolicySpec

// mutateBy adds a policy for all writes, with a binding of the same name.
func mutateBy(s state, name string, spec mutatingSpec) *admissionregistrationv1.MutatingAdmissionPolicyBinding {
	meta := metav1.ObjectMeta{Name: name}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta,
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name}}
	s[mutatingPolicies] = append(s[mutatingPolicies],
		&admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: meta, Spec: spec})
	s[mutatingBindings] = append(s[mutatingBindings], binding)
	return binding
}

// apply returns mutations with apply configurations, and patches those with JSON Patches.
func apply(expressions ...string) (all []admissionregistrationv1.Mutation) {
	for _, e := range expressions {
		all = append(all, admissionregistrationv1.Mutation{
			PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
			ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: e}})
	}
	return all
}

func patches(expressions ...string) (all []admissionregistrationv1.Mutation) {
	for _, e := range expressions {
		all = append(all, admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeJSONPatch,
			JSONPatch: &admissionregistrationv1.JSONPatch{Expression: e}})
	}
	return all
}

// createOf returns the attributes of the create of an object.
func createOf(t testing.TB, kinds *kind.Registry, obj kind.Object, resource string) *admission.Attributes {
	t.Helper()
	gvk := obj.GetObjectKind().GroupVersionKind()
	gvr := gvk.GroupVersion().WithResource(resource)
	k, ok := kinds.Find(gvr)
	if !ok {
		t.Fatalf("%s are not served", resource)
	}
	return &admission.Attributes{Operation: admission.Create, Resource: gvr, Kind: gvk, ServedKind: k.Kind,
		Namespace: obj.GetNamespace(), Name: obj.GetName(), Object: obj, User: "jane"}
}

func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", Labels: map[string]string{"app": "a"},
			ResourceVersion: "7", UID: "u", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl",
				Operation: "Update", APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}")}}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Name: "web", Image: "nginx", Args: []string{"-x"}, Env: []corev1.EnvVar{{Name: "A", Value: "1"}}}}}},
		}}
}

// mutationCase is the mutations of a policy for a Deployment, and what becomes of it.
type mutationCase struct {
	mutations []admissionregistrationv1.Mutation
	shown     string // the path of a value in the object
	want      string // its JSON
	err       string
}

// TestMutations checks what mutations make of a deployment, and their errors.
func TestMutations(t *testing.T) {
	t.Parallel()
	kinds := newRegistry()
	for name, c := range mutationCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newState()
			mutateBy(s, "p", mutatingSpec{Mutations: c.mutations})
			d := deployment()
			d.Spec.Replicas = new(int32(1))
			a := createOf(t, kinds, d, "deployments")
			err := Mutating(kinds).Admit(t.Context(), a, s)
			checkError(t, err, c.err)
			if c.err == "" {
				if got := at(t, a.Object, c.shown); got != c.want {
					t.Errorf("%s: got %s, want %s", c.shown, got, c.want)
				}
				return
			}
			s[mutatingPolicies][0].(*admissionregistrationv1.MutatingAdmissionPolicy).Spec.FailurePolicy =
				new(admissionregistrationv1.Ignore)
			want := c.err
			if !strings.HasPrefix(want, "Internal error") {
				want = ""
			}
			unchanged := deployment()
			checkError(t, Mutating(kinds).Admit(t.Context(), createOf(t, kinds, unchanged, "deployments"), s), want)
			if !reflect.DeepEqual(unchanged, deployment()) {
				t.Errorf("a mutation that failed changed the object: %v", unchanged)
			}
		})
	}
}

func mutationCases() map[string]mutationCase {
	const by = "policy 'p' with binding 'p' denied request: "
	template := func(fields string) string {
		return "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{" + fields + "}}}}"
	}
	containers := "Object.spec.template.spec.containers"
	return map[string]mutationCase{
		"a label": {apply(`Object{metadata: Object.metadata{labels: {"b": "c"}}}`), "metadata.labels",
			`{"app":"a","b":"c"}`, ""},
		"a number": {apply("Object{spec: Object.spec{replicas: 3}}"), "spec.replicas", "3", ""},
		"from the object": {apply("Object{spec: Object.spec{replicas: object.spec.replicas + 2}}",
			"Object{spec: Object.spec{replicas: object.spec.replicas * 5}}"), "spec.replicas", "15", ""},
		"a container": {apply(template(`containers: [` + containers + `{name: "proxy", image: "envoy"}]`)),
			"spec.template.spec.containers.1.imagePullPolicy", `"Always"`, ""},
		"a variable of a container": {apply(template(`containers: [` + containers + `{name: "web", env: [` + containers +
			`.env{name: "B", value: "2"}]}]`)), "spec.template.spec.containers.0.env",
			`[{"name":"A","value":"1"},{"name":"B","value":"2"}]`, ""},
		"an optional field": {apply("Object{spec: Object.spec{?replicas: optional.of(4), ?paused: optional.none()}}"),
			"spec.replicas", "4", ""},
		"equal objects": {apply("Object{spec: Object.spec{replicas: Object.a{b: Object.a.b{c: 1}} == " +
			"Object.a{b: Object.a.b{c: 1}} && Object.a{b: 1} != Object.a{b: 2} ? 7 : 8}}"),
			"spec.replicas", "7", ""},
		"a field of an object": {apply("Object{spec: Object.spec{replicas: has(Object.a{}.b) ? 8 : Object.a{b: 9}.b}}"),
			"spec.replicas", "9", ""},
		"nothing":      {apply("Object{}"), "spec.replicas", "1", ""},
		"an empty map": {apply("Object{metadata: Object.metadata{labels: {}}}"), "metadata.labels", `{"app":"a"}`, ""},
		"the same":     {apply(`Object{metadata: Object.metadata{labels: {"app": "a"}}}`), "metadata.resourceVersion", `"7"`, ""},
		"the owners":   {apply("Object{spec: Object.spec{replicas: 3}}"), "metadata.managedFields.0.manager", `"kubectl"`, ""},
		"the revision": {apply("Object{spec: Object.spec{replicas: 3}}"), "metadata.resourceVersion", `"7"`, ""},
		"its own kind": {apply(`Object{kind: "Pod", apiVersion: "v1", spec: Object.spec{replicas: 3}}`), "spec.replicas", "3", ""},
		"an atomic map": {apply(template(`nodeSelector: {"a": "b"}`)), "", "", by + "error applying patch: invalid " +
			"ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.template.spec.nodeSelector"},
		"an atomic list": {apply(template(`containers: [` + containers + `{name: "web", args: ["a"]}]`)), "", "", by +
			"error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: " +
			".spec.template.spec.containers[0].args"},
		"an atomic list, emptied": {apply(template(`containers: [` + containers + `{name: "web", args: []}]`)), "", "", by +
			"error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: " +
			".spec.template.spec.containers[0].args"},
		"managedFields": {apply("Object{metadata: Object.metadata{managedFields: []}}"), "", "",
			"may not mutate atomic arrays, maps or structs: .metadata.managedFields"},
		"an unknown field": {apply("Object{spec: Object.spec{color: 1}}"), "", "", by + "error applying patch: failed to " +
			"convert patch object to typed object: .spec.color: field not declared in schema"},
		"a field of another type": {apply(`Object{spec: Object.spec{replicas: "x"}}`), "", "", by + "error applying patch: " +
			"failed to convert patch object to typed object: .spec.replicas: expected numeric (int or float), got string"},
		"a type of another field": {apply("Object{spec: Object.wrong{}}"), "", "", by + "type mismatch: unexpected type " +
			`name "Object.wrong", expected "Object.spec", which matches field name path from root Object type`},
		"a failing expression": {apply("Object{spec: object.none}"), "", "",
			by + "expression 'Object{spec: object.none}' resulted in error: no such key: none"},

		"an added value": {patches(`[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b~c"), value: "d"}]`),
			"metadata.labels", `{"a/b~c":"d","app":"a"}`, ""},
		"steps": {patches(`[JSONPatch{op: "replace", path: "/spec/replicas", value: 4},
			JSONPatch{op: "copy", from: "/metadata/labels/app", path: "/metadata/labels/b"},
			JSONPatch{op: "move", from: "/metadata/labels/app", path: "/metadata/labels/c"},
			JSONPatch{op: "remove", path: "/metadata/labels/b"}]`), "metadata.labels", `{"c":"a"}`, ""},
		"a failing test": {patches(`[JSONPatch{op: "test", path: "/spec/replicas", value: 2},
			JSONPatch{op: "replace", path: "/spec/replicas", value: 4}]`), "spec.replicas", "1", ""},
		"a passing test": {patches(`[JSONPatch{op: "test", path: "/spec/replicas", value: 1},
			JSONPatch{op: "replace", path: "/spec/replicas", value: 4}]`), "spec.replicas", "4", ""},
		"an object": {patches(`[JSONPatch{op: "add", path: "/spec/template/spec/containers/-", value: ` + containers +
			`{name: "proxy", image: "envoy"}}]`), "spec.template.spec.containers.1.name", `"proxy"`, ""},
		"an atomic list by a patch": {patches(`[JSONPatch{op: "add", path: "/spec/template/spec/nodeSelector", ` +
			`value: {"a": "b"}}]`), "spec.template.spec.nodeSelector", `{"a":"b"}`, ""},
		"a part of the object": {patches(`[JSONPatch{op: "add", path: "/metadata/annotations", value: object.metadata.labels}]`),
			"metadata.annotations", `{"app":"a"}`, ""},
		"no steps":     {patches(`object == null ? [JSONPatch{op: "remove", path: "/a"}] : []`), "spec.replicas", "1", ""},
		"a wrong path": {patches(`[JSONPatch{op: "remove", path: "/spec/none"}]`), "", "", by + "JSON Patch: "},
		"a wrong type in a value": {patches(`[JSONPatch{op: "add", path: "/spec/x", value: Object.a{b: Object.c{}}}]`), "", "",
			by + `type mismatch: unexpected type name "Object.c", expected "Object.a.b"`},
		"an unknown field by a patch": {patches(`[JSONPatch{op: "add", path: "/spec/color", value: 1}]`), "", "",
			`Internal error occurred: strict decoding error: unknown field "spec.color"`},
		"another kind by a patch": {patches(`[JSONPatch{op: "replace", path: "/kind", value: "Pod"}]`), "", "",
			"Internal error occurred: the patch changed the kind from apps/v1, Kind=Deployment to apps/v1, Kind=Pod"},
		"a text for a number": {patches(`[JSONPatch{op: "replace", path: "/spec/replicas", value: "x"}]`), "", "",
			"Internal error occurred: json: cannot unmarshal string"},
	}
}

// at returns the JSON of a value at a dotted path of an object.
func at(t *testing.T, obj any, path string) string {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(path, ".") {
		switch in := value.(type) {
		case map[string]any:
			value = in[name]
		case []any:
			var i int
			fmt.Sscan(name, &i)
			if i >= len(in) {
				t.Fatalf("%s: no item %d in %v", path, i, in)
			}
			value = in[i]
		}
	}
	text, _ = json.Marshal(value)
	return string(text)
}

// twice calls the plugin as the server does: once, and once more if it asked for it, after change.
func twice(ctx context.Context, p admission.Plugin, a *admission.Attributes, s state, change func()) error {
	if err := p.Admit(ctx, a, s); err != nil || !a.Reinvoke {
		return err
	}
	a.Round = 1
	change()
	return p.Admit(ctx, a, s)
}

// TestReinvocation checks which policies a second round repeats.
func TestReinvocation(t *testing.T) {
	t.Parallel()
	kinds := newRegistry()
	// add returns a mutation that appends to the data, which shows the order of all mutations.
	add := func(text string) []admissionregistrationv1.Mutation {
		return patches(fmt.Sprintf(`[JSONPatch{op: "add", path: "/data/k", value: object.data.k + %q}]`, text))
	}
	ignored := new(admissionregistrationv1.Ignore)
	condition := func(e string) []admissionregistrationv1.MatchCondition {
		return []admissionregistrationv1.MatchCondition{{Name: "c", Expression: e}}
	}
	const ifNeeded = admissionregistrationv1.IfNeededReinvocationPolicy
	for name, c := range map[string]struct {
		specs    []mutatingSpec
		others   bool // whether another plugin changes the object and asks for the second round
		want     string
		reinvoke bool
	}{
		"Never":    {[]mutatingSpec{{Mutations: add("a")}, {Mutations: add("b")}}, false, "ab", true},
		"IfNeeded": {[]mutatingSpec{{Mutations: add("a"), ReinvocationPolicy: ifNeeded}, {Mutations: add("b")}}, false, "aba", true},
		"both": {[]mutatingSpec{{Mutations: add("a"), ReinvocationPolicy: ifNeeded},
			{Mutations: add("b"), ReinvocationPolicy: ifNeeded}}, false, "abab", true},
		"a condition on the earlier mutation": {[]mutatingSpec{{Mutations: add("a"), ReinvocationPolicy: ifNeeded},
			{Mutations: add("b"), MatchConditions: condition("object.data.k == 'a'"), ReinvocationPolicy: ifNeeded}}, false,
			"aba", true},
		"one that only the second round matches": {[]mutatingSpec{
			{Mutations: add("a"), MatchConditions: condition("object.data.k == 'b'"), ReinvocationPolicy: ifNeeded},
			{Mutations: add("b")}}, false, "b", true},
		"a failure that is ignored": {[]mutatingSpec{{Mutations: patches("[JSONPatch{op: object.none}]"),
			FailurePolicy: ignored, ReinvocationPolicy: ifNeeded}}, false, "", false},
		"another plugin's change": {[]mutatingSpec{{FailurePolicy: ignored, ReinvocationPolicy: ifNeeded,
			Mutations: patches(`object.data.k == "" ? [JSONPatch{op: object.none}] : ` +
				`[JSONPatch{op: "add", path: "/data/k", value: object.data.k + "a"}]`)}}, true, "xa", true},
		"two mutations": {[]mutatingSpec{{Mutations: append(add("a"), add("b")...), ReinvocationPolicy: ifNeeded}}, false,
			"abab", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newState()
			for i, spec := range c.specs {
				mutateBy(s, fmt.Sprint("p", i), spec)
			}
			a := create(t, kinds, map[string]string{"k": ""})
			a.Reinvoke = c.others
			err := twice(t.Context(), Mutating(kinds), a, s, func() {
				if c.others {
					a.Object.(*corev1.ConfigMap).Data["k"] += "x"
				}
			})
			checkError(t, err, "")
			if got := a.Object.(*corev1.ConfigMap).Data["k"]; got != c.want || a.Reinvoke != c.reinvoke {
				t.Errorf("got %q, reinvoke %t, want %q, %t", got, a.Reinvoke, c.want, c.reinvoke)
			}
		})
	}
}

// TestExpandingMutations checks that mutations with huge results fail at the limits, in time and memory: the failure
// policy decides.
func TestExpandingMutations(t *testing.T) {
	t.Parallel()
	kinds, data := newRegistry(), map[string]string{}
	for i := range 5_000 {
		data[fmt.Sprintf("key-%05d", i)] = strings.Repeat("x", 100)
	}
	double := strings.Repeat(".map(x, [x, x])", 60)
	nest := strings.Repeat(".map(x, Object.data{l: [x, x]})", 60)
	const tooLarge = "the result of the expression has more than 8388608 bytes"
	var copies []string
	for i := range 40 {
		copies = append(copies, fmt.Sprintf(`JSONPatch{op: "copy", from: "/data", path: "/data/x%d"}`, i))
	}
	var doubled []admissionregistrationv1.Variable
	for i := range 60 {
		v := admissionregistrationv1.Variable{Name: fmt.Sprint("v", i), Expression: "[1]"}
		if i > 0 {
			v.Expression = fmt.Sprintf("[variables.v%d, variables.v%d]", i-1, i-1)
		}
		doubled = append(doubled, v)
	}
	for name, c := range map[string]struct {
		spec mutatingSpec
		want string
	}{
		"lists in lists": {mutatingSpec{Mutations: apply("Object{data: [1]" + double + "}")}, tooLarge},
		"objects in lists": {mutatingSpec{Mutations: apply("Object{data: [Object.data{}]" + nest + "}")},
			"type mismatch: "},
		"objects of a patch": {mutatingSpec{Mutations: patches(`[JSONPatch{op: "add", path: "/data/k", value: [Object.data{}]` +
			nest + "}]")}, tooLarge},
		"comparison of objects": {mutatingSpec{Mutations: patches("[Object.data{}]" + nest + " == [Object.data{}]" + nest +
			` ? [JSONPatch{op: "remove", path: "/data"}] : [JSONPatch{op: "remove", path: "/none"}]`)}, "JSON Patch: "},
		"fields of objects": {mutatingSpec{Mutations: patches("[Object.data{}]" + nest + strings.Repeat("[0].l", 60) +
			`.size() == 0 ? [] : [JSONPatch{op: "remove", path: "/none"}]`)}, "no such"},
		"variables": {mutatingSpec{Variables: doubled, Mutations: apply("Object{data: variables.v59}")}, tooLarge},
		"copies":    {mutatingSpec{Mutations: patches("[" + strings.Join(copies, ", ") + "]")}, "JSON Patch: "},
		"a loop":    {mutatingSpec{Mutations: apply("Object{data: object.data.map(k, object.data.map(l, l)).map(x, 'a')}")}, "resulted in error: "},
		"large texts": {mutatingSpec{Mutations: patches("[" + strings.Repeat(`JSONPatch{op: "add", path: "/data/k", value: `+
			`object.data}, `, 30) + `JSONPatch{op: "remove", path: "/data/k"}]`)}, tooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newState()
			mutateBy(s, "p", c.spec)
			bounded(t, func() {
				checkError(t, Mutating(kinds).Admit(t.Context(), create(t, kinds, data), s), c.want)
			})
			s = newState()
			c.spec.FailurePolicy = new(admissionregistrationv1.Ignore)
			mutateBy(s, "p", c.spec)
			a := create(t, kinds, data)
			bounded(t, func() { checkError(t, Mutating(kinds).Admit(t.Context(), a, s), "") })
			if got := len(a.Object.(*corev1.ConfigMap).Data); got != len(data) {
				t.Errorf("got %d keys, want %d", got, len(data))
			}
		})
	}
}

// TestManyMutatingPolicies checks that 50 policies are applied to a small object, and that their changes of a large one
// share a limit.
func TestManyMutatingPolicies(t *testing.T) {
	t.Parallel()
	kinds := newRegistry()
	s := newState()
	for i := range 50 {
		mutateBy(s, fmt.Sprintf("p%02d", i), mutatingSpec{ReinvocationPolicy: admissionregistrationv1.IfNeededReinvocationPolicy,
			Mutations: slices.Concat(apply(fmt.Sprintf(`Object{metadata: Object.metadata{labels: {"l%d": "x"}}}`, i)),
				patches(`[JSONPatch{op: "add", path: "/metadata/annotations", value: {"n": string(size(object.metadata.labels))}}]`))})
	}
	p, a := Mutating(kinds), create(t, kinds, nil)
	bounded(t, func() { checkError(t, twice(t.Context(), p, a, s, func() {}), "") })
	if got := a.Object.GetAnnotations()["n"]; got != "50" {
		t.Errorf("got %s labels, want 50", got)
	}
	large := create(t, kinds, map[string]string{"k": strings.Repeat("x", 1<<20)})
	bounded(t, func() {
		checkError(t, twice(t.Context(), p, large, s, func() {}), "earlier policies have used up the cost budget")
	})
}

// TestMutatingParams checks that a policy is applied for each parameter, and the error if there is none.
func TestMutatingParams(t *testing.T) {
	t.Parallel()
	kinds := newRegistry()
	secrets := schema.GroupResource{Resource: "secrets"}
	for name, c := range map[string]struct {
		ref  *admissionregistrationv1.ParamRef
		want string
		err  string
	}{
		"by name":     {&admissionregistrationv1.ParamRef{Name: "s1"}, "s1,", ""},
		"by selector": {&admissionregistrationv1.ParamRef{Selector: &metav1.LabelSelector{}}, "s0,s1,s2,", ""},
		"none":        {&admissionregistrationv1.ParamRef{Name: "none"}, "", ""},
		"none, denied": {&admissionregistrationv1.ParamRef{Name: "none",
			ParameterNotFoundAction: new(admissionregistrationv1.DenyAction)}, "", "policy 'p' with binding 'p' denied request: " +
			"failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newState()
			for i := range 3 {
				s[secrets] = append(s[secrets], &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i),
					Namespace: "default"}})
			}
			b := mutateBy(s, "p", mutatingSpec{ParamKind: &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "Secret"},
				Mutations: patches(`[JSONPatch{op: "add", path: "/data/k", value: object.data.k + params.metadata.name + ","}]`)})
			b.Spec.ParamRef = c.ref
			a := create(t, kinds, map[string]string{"k": ""})
			checkError(t, Mutating(kinds).Admit(t.Context(), a, s), c.err)
			if got := a.Object.(*corev1.ConfigMap).Data["k"]; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// BenchmarkMutate measures the mutation of a config map.
func BenchmarkMutate(b *testing.B) {
	kinds := newRegistry()
	for _, size := range []int{0, 1 << 20} {
		for name, m := range map[string][]admissionregistrationv1.Mutation{
			"apply": apply(`Object{metadata: Object.metadata{labels: {"a": "b"}}}`),
			"patch": patches(`[JSONPatch{op: "add", path: "/metadata/labels", value: {"a": "b"}}]`),
		} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				s := newState()
				mutateBy(s, "p", mutatingSpec{Mutations: m})
				p, a := Mutating(kinds), create(b, kinds, map[string]string{"k": strings.Repeat("x", size)})
				b.ReportAllocs()
				for b.Loop() {
					a.Object.SetLabels(nil)
					if err := p.Admit(b.Context(), a, s); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
