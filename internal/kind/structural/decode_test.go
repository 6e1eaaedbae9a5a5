package structural

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestDecodeRequest checks each rule of decoding a body.
func TestDecodeRequest(t *testing.T) {
	t.Parallel()
	const head = `{"apiVersion":"example.com/v1","kind":"Widget",`
	tests := []struct {
		rule, body, content string
		strict              []string
	}{
		{rule: "an unknown field is left out and named",
			body:    head + `"spec":{"size":"large","sise":"x","ports":[{"name":"a","prot":1,"port":1}]},"extra":1}`,
			content: head + `"spec":{"ports":[{"name":"a","port":1}],"size":"large"}}`,
			strict: []string{`unknown field "extra"`, `unknown field "spec.ports[0].prot"`,
				`unknown field "spec.sise"`}},
		{rule: "a field that stands twice is named and the last one counts",
			body: head + `"spec":{"size":"small","size":"large"}}`, content: head + `"spec":{"size":"large"}}`,
			strict: []string{`duplicate field "spec.size"`}},
		{rule: "an unknown field of the metadata is left out and named",
			body: head + `"metadata":{"name":"w","nam":"x"}}`, content: head + `"metadata":{"name":"w"}}`,
			strict: []string{`unknown field "metadata.nam"`}},
		{rule: "defaults fill what is missing, also in lists",
			body:    head + `"spec":{"ports":[{"name":"a"}]}}`,
			content: head + `"spec":{"ports":[{"name":"a","port":80}],"size":"small"}}`},
		{rule: "a default fills no object that is missing", body: head + `"metadata":{"name":"w"}}`,
			content: head + `"metadata":{"name":"w"}}`},
		{rule: "a null with a default becomes the default", body: head + `"spec":{"size":null}}`,
			content: head + `"spec":{"size":"small"}}`},
		{rule: "a null without a default is left out", body: head + `"spec":{"on":null,"size":"small"}}`,
			content: head + `"spec":{"size":"small"}}`},
		{rule: "a nullable null stays", body: head + `"spec":{"note":null,"size":"small"}}`,
			content: head + `"spec":{"note":null,"size":"small"}}`},
		{rule: "what preserves unknown fields keeps them",
			body:    head + `"spec":{"free":{"any":{"thing":[1,2.5]}},"size":"small"}}`,
			content: head + `"spec":{"free":{"any":{"thing":[1,2.5]}},"size":"small"}}`},
		{rule: "the metadata of an embedded object is pruned and named",
			body: head +
				`"spec":{"size":"small","template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","nam":"x"},"spec":{"a":1}}}}`,
			content: head +
				`"spec":{"size":"small","template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"a":1}}}}`,
			strict: []string{`unknown field "spec.template.metadata.nam"`}},
		{rule: "large integers stay exact", body: head + `"spec":{"replicas":9007199254740993,"size":"small"}}`,
			content: head + `"spec":{"replicas":9007199254740993,"size":"small"}}`},
		{rule: "another version than the form's keeps its apiVersion and loses all fields",
			body:    `{"apiVersion":"example.com/v9","kind":"Widget","metadata":{"name":"w"},"spec":{}}`,
			content: `{"apiVersion":"example.com/v9","kind":"Widget","metadata":{"name":"w"}}`,
			strict:  []string{`unknown field "spec"`}},
		{rule: "another kind keeps its name and all its fields",
			body:    `{"apiVersion":"example.com/v1","kind":"Wigdet","spec":{"x":1}}`,
			content: `{"apiVersion":"example.com/v1","kind":"Wigdet","spec":{"x":1}}`},
	}
	k := newKind(t, widget)
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			obj, strict, err := k.DecodeRequest(exampleV1, []byte(test.body), false)
			if err != nil {
				t.Fatal(err)
			}
			version := obj.GetObjectKind().GroupVersionKind().GroupVersion().String()
			got, err := k.Encode(object.Form{APIVersion: version}, obj)
			if err != nil || string(got) != test.content {
				t.Errorf("\nwant %s\ngot  %s, %v", test.content, got, err)
			}
			if !slices.Equal(strict, test.strict) {
				t.Errorf("strict decoding found %q, want %q", strict, test.strict)
			}
			if _, strict, _ := k.DecodeRequest(exampleV1, []byte(test.body), true); len(strict) > 0 {
				t.Errorf("lenient decoding found %q", strict)
			}
		})
	}
}

// TestDecodeRequestErrors checks the bodies that cannot be decoded, with Kubernetes' messages.
func TestDecodeRequestErrors(t *testing.T) {
	t.Parallel()
	const head = `{"apiVersion":"example.com/v1","kind":"Widget",`
	tests := []struct{ rule, body, text string }{
		{"what is no JSON", `{"kind":`, "unexpected end of JSON input"},
		{"a list", `[]`, "json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{"nothing", `null`, "Object 'Kind' is missing in 'null'"},
		{"no kind", `{"apiVersion":"example.com/v1"}`, `Object 'Kind' is missing in '{"apiVersion":"example.com/v1"}'`},
		{"a kind that is a number", `{"kind":1}`, ".kind accessor error: 1 is of the type int64, expected string"},
		{"metadata that is a string", head + `"metadata":"x"}`,
			"json: cannot unmarshal string into Go value of type v1.ObjectMeta"},
		{"a label that is a number", head + `"metadata":{"labels":{"a":1}}}`,
			"json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"},
		{"a malformed time", head + `"metadata":{"creationTimestamp":"now"}}`,
			`parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"`},
		{"embedded metadata that is a string", head + `"spec":{"template":{"metadata":"x"}}}`,
			`spec.template.metadata: Invalid value: "x": json: cannot unmarshal string into Go value of type v1.ObjectMeta`},
	}
	k := newKind(t, widget)
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			_, _, err := k.DecodeRequest(exampleV1, []byte(test.body), false)
			if err == nil || err.Error() != test.text {
				t.Errorf("\nwant %s\ngot  %v", test.text, err)
			}
		})
	}
}

// TestProtobufIsUnsupported checks that custom resources have no protobuf form.
func TestProtobufIsUnsupported(t *testing.T) {
	t.Parallel()
	k := newKind(t, widget)
	form := object.Form{APIVersion: exampleV1.APIVersion, Format: object.Protobuf}
	_, _, err := k.DecodeRequest(form, []byte("k8s\x00"), false)
	if !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("DecodeRequest did not fail as expected: %v", err)
	}
	if _, err := k.Encode(form, k.New()); err == nil {
		t.Error("Encode returned bytes instead of an error")
	}
	if _, err := k.Decode(form, []byte("k8s\x00")); err == nil {
		t.Error("Decode returned an object instead of an error")
	}
}

// TestNoSchemaPreservesAllFields checks a definition without a schema, which v1beta1 allows.
func TestNoSchemaPreservesAllFields(t *testing.T) {
	t.Parallel()
	k := newKind(t, gadget)
	body := `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"},"spec":{"gatewar":"192.168.0.1","list":[null,{}]}}`
	obj, strict, err := k.DecodeRequest(exampleV1, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	if got, _ := k.Encode(exampleV1, obj); string(got) != body {
		t.Errorf("\nwant %s\ngot  %s", body, got)
	}
	if errs := k.Validate(t.Context(), obj, nil, ""); len(errs) > 0 {
		t.Errorf("Validate: %v", errs)
	}
}

// TestVersionConversion checks that a request is decoded with its own version's schema and
// defaults, and stored in the storage version with that version's defaults; other versions show only the
// fields that their schema defines.
func TestVersionConversion(t *testing.T) {
	t.Parallel()
	k := newKind(t, widget)
	old := object.Form{APIVersion: "example.com/v1alpha1"}
	obj, strict, err := k.DecodeRequest(old,
		[]byte(`{"apiVersion":"example.com/v1alpha1","kind":"Widget","spec":{"replicas":2,"on":true}}`), false)
	if err != nil || !slices.Equal(strict, []string{`unknown field "spec.on"`}) {
		t.Fatal(err, strict)
	}
	stored, toStore, err := k.(kind.Custom).In(old.APIVersion).(kind.Custom).ToStorage(obj)
	if err != nil || stored != k {
		t.Errorf("the kind to store as is %v (%v), want the definition's own", stored, err)
	}
	if got, _ := k.Encode(exampleV1,
		toStore); string(got) != `{"apiVersion":"example.com/v1","kind":"Widget","spec":{"replicas":2,"size":"small"}}` {
		t.Errorf("the object to store is %s", got)
	}
	full := widgetWith(t, k, `"spec":{"on":true,"size":"large"}`)
	got, err := k.Encode(old, full)
	if err != nil ||
		string(got) != `{"apiVersion":"example.com/v1alpha1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":"large"}}` {
		t.Errorf("the old version shows %s (%v)", got, err)
	}
	if full.GetAPIVersion() != "example.com/v1" || full.Object["spec"].(map[string]any)["on"] != true {
		t.Errorf("encoding changed the object: %v", full.Object)
	}
	back, err := k.Decode(old, got)
	if err != nil || back.GetObjectKind().GroupVersionKind().Version != "v1alpha1" {
		t.Errorf("the old version reads back as %v (%v)", back, err)
	}
	if _, err := k.Encode(object.Form{APIVersion: "example.com/v9"}, full); err == nil ||
		!strings.Contains(err.Error(), "invalid group/version: example.com/v9") {
		t.Errorf("encoding in an undefined version: %v", err)
	}
}

// FuzzDecodeRequest checks that no body causes a panic, and that encoding and decoding the result does not
// change it.
func FuzzDecodeRequest(f *testing.F) {
	for _, s := range golden.Steps(f, "crd.json") {
		if strings.HasPrefix(s.Path, "/apis/samplecrd") && s.Body != "" {
			f.Add([]byte(strings.ReplaceAll(strings.ReplaceAll(s.Body, "samplecrd.example.com", "example.com"),
				"Network", "Widget")))
		}
	}
	f.Add([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":null,"spec":{"template":{"metadata":{"labels":null}},"tags":[1,null]}}`))
	f.Add([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","spec":{"replicas":1e400}}`))
	k := newKind(f, widget)
	f.Fuzz(func(t *testing.T, body []byte) {
		obj, _, err := k.DecodeRequest(exampleV1, body, false)
		if err != nil || obj.GetObjectKind().GroupVersionKind().GroupVersion().String() != exampleV1.APIVersion {
			return
		}
		k.Prepare(obj, nil, "")
		k.Validate(t.Context(), obj, nil, "")
		k.Fields(obj)
		first, err := k.Encode(exampleV1, obj)
		if err != nil {
			t.Fatalf("an object that was decoded cannot be encoded: %v", err)
		}
		again, strict, err := k.DecodeRequest(exampleV1, first, false)
		if err != nil || len(strict) > 0 {
			t.Fatalf("an object that was encoded cannot be decoded: %v, %q: %s", err, strict, first)
		}
		if second, _ := k.Encode(exampleV1, again); string(second) != string(first) {
			t.Errorf("decoding and encoding changes\n%s\nto\n%s", first, second)
		}
	})
}
