package structural

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestInfo checks the data that discovery and routing use.
func TestInfo(t *testing.T) {
	t.Parallel()
	info := newKind(t, widget).Info()
	if info.Kind != "Widget" || info.ListKind() != "WidgetList" || info.Plural != "widgets" ||
		info.Singular != "widget" || !info.Namespaced || !info.Generation {
		t.Errorf("wrong names: %+v", info)
	}
	if !slices.Equal(info.ShortNames, []string{"wd"}) || !slices.Equal(info.Categories, []string{"all"}) {
		t.Errorf("wrong short names or categories: %+v", info)
	}
	var versions []string
	for _, e := range info.Endpoints {
		versions = append(versions, fmt.Sprintf("%s unserved=%t %q", e.APIVersion(), e.Unserved, e.Deprecated))
	}
	want := []string{
		`example.com/v1 unserved=false ""`,
		`example.com/v1alpha1 unserved=false "example.com/v1alpha1 Widget is deprecated; use example.com/v1 Widget"`,
		`example.com/v1beta1 unserved=true "gone soon"`,
	}
	if !slices.Equal(versions, want) {
		t.Errorf("endpoints %q, want %q", versions, want)
	}
	if e := info.Endpoints[0]; !maps.Equal(e.Selectable, map[string]string{"spec.size": "", "spec.replicas": ""}) ||
		info.Endpoints[1].Selectable != nil {
		t.Errorf("selectable fields of v1 %v, of the next version %v", e.Selectable, info.Endpoints[1].Selectable)
	}
	if info.Subresource("status") == nil || info.Subresource("scale") == nil {
		t.Errorf("subresources %+v, want status and scale", info.Subresources)
	}
}

// TestAcceptedNamesAreServed checks that names in the status take precedence over those in the spec.
func TestAcceptedNamesAreServed(t *testing.T) {
	t.Parallel()
	crd := parseDefinition(t, widget)
	crd.Status.AcceptedNames = crd.Spec.Names
	crd.Status.AcceptedNames.ShortNames = nil
	k, err := New(object.NewCache(0), crd, nil)
	if err != nil || k.Info().ShortNames != nil {
		t.Errorf("short names %v, want none, as in the status (%v)", k.Info().ShortNames, err)
	}
}

// TestNewWithoutStorageVersion checks the error for a definition without a storage version.
func TestNewWithoutStorageVersion(t *testing.T) {
	t.Parallel()
	_, err := New(object.NewCache(0),
		parseDefinition(t, `{"metadata":{"name":"x.example.com"},"spec":{"versions":[{"name":"v1"}]}}`), nil)
	if err == nil || !strings.Contains(err.Error(), "x.example.com has no storage version") {
		t.Errorf("got %v, want an error about the storage version", err)
	}
}

// TestPrepare checks which fields each write may change.
func TestPrepare(t *testing.T) {
	t.Parallel()
	const head = `"apiVersion":"example.com/v1","kind":"%s","metadata":{%s"name":"w"}`
	tests := []struct {
		rule, definition, kind, sub, old, new, want string
	}{
		{rule: "a create has no status and generation 1", definition: widget, kind: "Widget",
			new: `"spec":{"size":"large"},"status":{"phase":"x"}`, want: `"generation":1,|"spec":{"size":"large"}`},
		{rule: "a create has the status that the schema sets by default", definition: pending, kind: "Widget",
			new: `"status":{"phase":"x"}`, want: `"generation":1,|"status":{"phase":"Pending"}`},
		{rule: "an update keeps the status and counts the spec", definition: widget, kind: "Widget",
			old:  `"spec":{"size":"large"},"status":{"phase":"x"}`,
			new:  `"spec":{"size":"small"},"status":{"phase":"y"}`,
			want: `"generation":6,|"spec":{"size":"small"},"status":{"phase":"x"}`},
		{rule: "an update adds no status", definition: widget, kind: "Widget",
			old: `"spec":{"size":"large"}`, new: `"spec":{"size":"large"},"status":{"phase":"y"}`,
			want: `"generation":5,|"spec":{"size":"large"}`},
		{rule: "a write of the status changes nothing else", definition: widget, kind: "Widget", sub: "status",
			old:  `"spec":{"size":"large"},"status":{"phase":"x"}`,
			new:  `"spec":{"size":"small"},"status":{"phase":"y"}`,
			want: `"generation":5,|"spec":{"size":"large"},"status":{"phase":"y"}`},
		{rule: "a write of the status may remove it", definition: widget, kind: "Widget", sub: "status",
			old: `"spec":{"size":"large"},"status":{"phase":"x"}`, new: `"spec":{"size":"large"}`,
			want: `"generation":5,|"spec":{"size":"large"}`},
		{rule: "a write of the scale counts", definition: widget, kind: "Widget", sub: "scale",
			old: `"spec":{"replicas":1,"size":"large"}`, new: `"spec":{"replicas":2,"size":"large"}`,
			want: `"generation":6,|"spec":{"replicas":2,"size":"large"}`},
		{rule: "without a status subresource a create keeps the status", definition: gadget, kind: "Gadget",
			new: `"status":{"phase":"x"}`, want: `"generation":1,|"status":{"phase":"x"}`},
		{rule: "without a status subresource a change of the status counts", definition: gadget, kind: "Gadget",
			old: `"status":{"phase":"x"}`, new: `"status":{"phase":"y"}`,
			want: `"generation":6,|"status":{"phase":"y"}`},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			k := newKind(t, test.definition)
			body := func(fields string) string {
				return "{" + fmt.Sprintf(head, test.kind, `"labels":{"a":"b"},`) + "," + fields + "}"
			}
			var old kind.Object
			if test.old != "" {
				old = decode(t, k, "{"+fmt.Sprintf(head, test.kind, `"generation":5,`)+","+test.old+"}")
			}
			obj := decode(t, k, body(test.new))
			k.Prepare(obj, old, test.sub)
			meta, fields, _ := strings.Cut(test.want, "|")
			if test.sub != "status" {
				meta += `"labels":{"a":"b"},`
			}
			got, err := k.Encode(exampleV1, obj)
			if want := "{" + fmt.Sprintf(head, test.kind, meta) + "," + fields + "}"; err != nil ||
				string(got) != want {
				t.Errorf("\nwant %s\ngot  %s, %v", want, got, err)
			}
		})
	}
}

// TestStatusWriteRestoresMetadata checks that a write of the status restores the metadata except managed fields
// and resourceVersion.
func TestStatusWriteRestoresMetadata(t *testing.T) {
	t.Parallel()
	k := newKind(t, widget)
	old := widgetWith(t, k, `"spec":{}`)
	old.SetLabels(map[string]string{"old": ""})
	obj := old.DeepCopy()
	obj.SetLabels(map[string]string{"new": ""})
	obj.SetResourceVersion("7")
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m"}})
	k.Prepare(obj, old, "status")
	if obj.GetLabels()["new"] != "" || len(obj.GetLabels()) != 1 || obj.GetResourceVersion() != "7" ||
		len(obj.GetManagedFields()) != 1 {
		t.Errorf("metadata after a write of the status: %v", obj.Object["metadata"])
	}
}

// TestValidate checks the validation rules that the recordings do not cover.
func TestValidate(t *testing.T) {
	t.Parallel()
	tests := []struct{ rule, sub, old, new, errs string }{
		{rule: "a valid object", new: `"spec":{"size":"small","ports":[{"name":"a"},{"name":"b"}]}`},
		{rule: "a map with a key twice", new: `"spec":{"ports":[{"name":"a"},{"name":"a"}]}`,
			errs: `spec.ports[1]: Duplicate value: {"name":"a"}`},
		{rule: "a map whose key twice was there before", old: `"spec":{"ports":[{"name":"a"},{"name":"a"}]}`,
			new: `"spec":{"ports":[{"name":"a"},{"name":"a"}],"on":true}`},
		{rule: "a value that was wrong before and did not change", old: `"spec":{"size":"huge"}`,
			new: `"spec":{"size":"huge","on":true}`},
		{rule: "a value that was wrong before and changed", old: `"spec":{"size":"huge"}`,
			new:  `"spec":{"size":"vast"}`,
			errs: `spec.size: Unsupported value: "vast": supported values: "small", "large"`},
		{rule: "an embedded object without kind", new: `"spec":{"template":{"apiVersion":"v1"}}`,
			errs: `spec.template.kind: Required value`},
		{rule: "negative replicas", new: `"spec":{"replicas":-1}`,
			errs: `.spec.replicas: Invalid value: -1: should be a non-negative integer`},
		{rule: "replicas beyond 32 bits", new: `"spec":{"replicas":2147483648}`,
			errs: `.spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647`},
		{rule: "a write of the status checks the status", sub: "status", old: `"spec":{}`,
			new:  `"spec":{},"status":{"phase":"too long"}`,
			errs: `status.phase: Too long: may not be more than 5 bytes`},
		{rule: "a write of the status does not check the spec", sub: "status", old: `"spec":{"size":"huge"}`,
			new: `"spec":{"size":"vast"},"status":{"phase":"x"}`},
		{rule: "a write of the status checks its replicas", sub: "status", old: `"spec":{}`,
			new:  `"status":{"replicas":-1}`,
			errs: `.status.replicas: Invalid value: -1: should be a non-negative integer`},
	}
	k := newKind(t, widget)
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			var old kind.Object
			if test.old != "" {
				old = widgetWith(t, k, test.old)
			}
			errs := k.Validate(t.Context(), widgetWith(t, k, test.new), old, test.sub)
			got := ""
			if len(errs) > 0 {
				got = errs.ToAggregate().Error()
			}
			if got != test.errs {
				t.Errorf("\nwant %s\ngot  %s", test.errs, got)
			}
		})
	}
}

// TestFinalizerWarnings checks the warning for a new finalizer without a domain.
func TestFinalizerWarnings(t *testing.T) {
	t.Parallel()
	k := newKind(t, widget)
	obj := widgetWith(t, k, `"spec":{}`)
	obj.SetFinalizers([]string{"example.com/f", "orphan", "plain", "dotted.example.com"})
	old := widgetWith(t, k, `"spec":{}`)
	old.SetFinalizers([]string{"plain"})
	want := []string{`metadata.finalizers: "dotted.example.com": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`}
	if got := k.Warnings(obj, old, ""); !slices.Equal(got, want) {
		t.Errorf("warnings of the update %q, want %q", got, want)
	}
	if got := k.Warnings(obj, nil, ""); len(got) != 2 {
		t.Errorf("warnings of the create %q, want 2", got)
	}
}

// TestRawSchema checks that each version has its own schema.
func TestRawSchema(t *testing.T) {
	t.Parallel()
	k := newKind(t, widget).(*Kind)
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(k.RawSchema("v1"), &props); err != nil || len(props.Properties) != 2 {
		t.Errorf("the schema of v1 is %+v (%v)", props, err)
	}
	if k.RawSchema("v9") != nil || newKind(t, gadget).(*Kind).RawSchema("v1") != nil {
		t.Error("a version without a schema has one")
	}
}

// TestConcurrentFirstUse checks that concurrent first uses compile the schema safely.
func TestConcurrentFirstUse(t *testing.T) {
	t.Parallel()
	k := newKind(t, widget)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			obj, _, err := k.DecodeRequest(exampleV1,
				[]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`), false)
			if err != nil {
				t.Error(err)
				return
			}
			k.Validate(t.Context(), obj, obj, "")
			k.Fields(obj)
			if row, err := k.Row(obj, exampleV1.APIVersion, time.Now()); err != nil || row[7] != "True" {
				t.Errorf("row %v (%v), want True in the last cell", row, err)
			}
		})
	}
	group.Wait()
}

// BenchmarkNew measures the cost of a definition without objects.
func BenchmarkNew(b *testing.B) {
	crd, cache := parseDefinition(b, widget), object.NewCache(0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(cache, crd, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstObject measures the first object of a definition, which compiles the schema.
func BenchmarkFirstObject(b *testing.B) {
	steps := golden.Steps(b, "crd.json")
	crd, cache := parseDefinition(b, steps[0].Body), object.NewCache(0)
	b.ReportAllocs()
	for b.Loop() {
		k, err := New(cache, crd, nil)
		if err != nil {
			b.Fatal(err)
		}
		create(b, k, networkV1, []byte(steps[8].Body))
	}
}

// BenchmarkCreate measures the kind's share of each further create.
func BenchmarkCreate(b *testing.B) {
	steps := golden.Steps(b, "crd.json")
	k := newKind(b, steps[0].Body)
	b.ReportAllocs()
	for b.Loop() {
		create(b, k, networkV1, []byte(steps[8].Body))
	}
}

func create(b *testing.B, k kind.Kind, form object.Form, body []byte) {
	b.Helper()
	obj, _, err := k.DecodeRequest(form, body, false)
	if err != nil {
		b.Fatal(err)
	}
	k.Prepare(obj, nil, "")
	if errs := k.Validate(b.Context(), obj, nil, ""); len(errs) > 0 {
		b.Fatal(errs)
	}
	if _, err := k.Encode(form, obj); err != nil {
		b.Fatal(err)
	}
}
