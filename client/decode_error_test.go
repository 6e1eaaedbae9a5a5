package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/wire"
)

// widget is a Go type for a custom resource.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              widgetSpec   `json:"spec"`
	Status            widgetStatus `json:"status,omitzero"`
}

type widgetSpec struct {
	Size  int32             `json:"size,omitempty"`
	Ports []widgetPort      `json:"ports,omitempty"`
	Until *metav1.Time      `json:"until,omitempty"`
	Names map[string]string `json:"names,omitempty"`
	Inner *widgetSpec       `json:"inner,omitempty"`
}

type widgetPort struct {
	Port uint8 `json:"port"`
}

type widgetStatus struct {
	Ready bool `json:"ready"`
}

func (w *widget) DeepCopyObject() runtime.Object {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// The server's schema and the Go type have different types for a field.
func TestDecodeErrorNamesField(t *testing.T) {
	t.Parallel()
	var body string
	c := connect(t, func(w http.ResponseWriter, r *http.Request) { answer(w, 200, body) })
	const head = `"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"ns"}`
	for _, test := range []struct{ fields, field, value, want string }{
		{`"spec":{"size":"large"}`, "spec.size", `"large"`, "the Go type expects int32"},
		{`"spec":{"size":3000000000}`, "spec.size", "3000000000", "int32"},
		{`"spec":{"size":1.5}`, "spec.size", "1.5", "int32"},
		{`"spec":{"ports":[{"port":1},{"port":70000}]}`, "spec.ports[1].port", "70000", "uint8"},
		{`"spec":{"ports":{"a":1}}`, "spec.ports", `{"a":1}`, "a list"},
		{`"spec":{"until":"tomorrow"}`, "spec.until", `"tomorrow"`, "cannot parse"},
		{`"spec":{"names":{"a":"b","c":true}}`, "spec.names.c", "true", "string"},
		{`"spec":[]`, "spec", "[]", "an object"},
		{`"status":{"ready":"` + strings.Repeat("y", 200) + `"}`, "status.ready", `"` + strings.Repeat("y", 99) + "...",
			"bool"},
	} {
		body = "{" + head + "," + test.fields + "}"
		_, err := client.Of[*widget](c, widgets).Get(t.Context(), "ns", "a")
		decodeError := new(client.DecodeError)
		if !errors.As(err, &decodeError) {
			t.Errorf("%s: got %v, want a *DecodeError", test.fields, err)
			continue
		}
		if decodeError.Object != "Widget ns/a" || decodeError.Type != "*client_test.widget" ||
			decodeError.Field != test.field ||
			decodeError.Value != test.value || !strings.Contains(decodeError.Err.Error(), test.want) {
			t.Errorf("%s:\ngot %+v, want field %s, value %s, %q", test.fields, *decodeError, test.field, test.value,
				test.want)
		}
	}
	body = `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"5"},"items":[{` + head +
		`},{` + head + `,"spec":{"size":"x"}}]}`
	_, err := client.Of[*widget](c, widgets).List(t.Context(), "ns", metav1.ListOptions{})
	if err == nil || !strings.Contains(err.Error(), "item 1") ||
		!strings.Contains(err.Error(), `Widget ns/a into a *client_test.widget: field spec.size is "x": `) {
		t.Errorf("list: got %v", err)
	}
}

func TestNonObjectResponsesAreErrors(t *testing.T) {
	t.Parallel()
	var body string
	c := connect(t, func(w http.ResponseWriter, r *http.Request) { answer(w, 200, body) })
	for text, want := range map[string]string{
		"OK":                                  `the answer into a *v1.ConfigMap: not a Kubernetes object: it starts with "OK"`,
		`[]`:                                  "not a Kubernetes object",
		`{"kind":"ConfigMap","metadata":{"na`: "unexpected end of JSON",
		`{"hello":"world"}`:                   "not a Kubernetes object: it has no kind",
		``:                                    "not a Kubernetes object",
	} {
		body = text
		_, err := client.Of[*corev1.ConfigMap](c, configmaps).Get(t.Context(), "ns", "a")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
		if _, err = client.Of[*unstructured.Unstructured](c, configmaps).Get(t.Context(), "ns", "a"); err == nil {
			t.Errorf("%q: got an object, want an error", text)
		}
		if _, err = client.Of[*corev1.ConfigMap](c, configmaps).List(t.Context(), "ns",
			metav1.ListOptions{}); err == nil {
			t.Errorf("%q: got a list, want an error", text)
		}
	}
}

func TestDecodeErrorSearchIsBounded(t *testing.T) {
	t.Parallel()
	nested := func(depth int) []byte {
		const inner = `{"inner":`
		return []byte(`{"spec":` + strings.Repeat(inner, depth) + `{"size":"large"}` + strings.Repeat("}", depth) + `}`)
	}
	for depth, found := range map[int]bool{30: true, 9_000: false} {
		var decodeError *client.DecodeError
		if _, err := wire.Decode[*widget](nested(depth)); !errors.As(err, &decodeError) {
			t.Fatal(err)
		}
		if levels := strings.Count(decodeError.Field, "inner"); strings.HasSuffix(decodeError.Field, "size") != found ||
			levels > 1_000 {
			t.Errorf("%d of %d levels were searched: %.100s", levels, depth, decodeError)
		}
	}
}
