package structural

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

var networkV1 = object.Form{APIVersion: "samplecrd.example.com/v1"}

// TestRecordedObjects replays the writes of custom resources in a recording through the kind, and compares
// the results with the responses of a kube-apiserver.
func TestRecordedObjects(t *testing.T) {
	t.Parallel()
	steps := golden.Steps(t, "crd.json")
	plane := &minimalServer{kind: newKind(t, steps[0].Body), objects: map[string]*unstructured.Unstructured{}}
	for i, s := range steps {
		if !plane.serves(s) {
			continue
		}
		answer, warnings := plane.answer(t, s)
		if diff := difference(t, s, answer, warnings); diff != "" {
			t.Errorf("crd.json[%d] %s %s: %s", i, s.Method, s.Path, diff)
		}
	}
}

// TestRecordedTable compares the Table of the recorded object.
func TestRecordedTable(t *testing.T) {
	t.Parallel()
	steps := golden.Steps(t, "crd.json")
	k := newKind(t, steps[0].Body)
	obj, _, err := k.DecodeRequest(networkV1, []byte(steps[8].Body), false)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	obj.SetCreationTimestamp(metav1.NewTime(now))
	cells, err := k.Row(obj, networkV1.APIVersion, now)
	if err != nil {
		t.Fatal(err)
	}
	want := steps[10].Response.JSON(t).(map[string]any)
	equalJSON(t, want["columnDefinitions"], k.Columns(networkV1.APIVersion))
	equalJSON(t, want["rows"].([]any)[0].(map[string]any)["cells"], cells)
}

func equalJSON(t *testing.T, want, got any) {
	t.Helper()
	wantJSON, _ := json.Marshal(want)
	gotJSON, _ := json.Marshal(got)
	var a, b any
	if json.Unmarshal(wantJSON, &a) != nil || json.Unmarshal(gotJSON, &b) != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("\nwant %s\ngot  %s", wantJSON, gotJSON)
	}
}

// minimalServer is a minimal server for the recorded writes: it stores objects without managing their metadata.
type minimalServer struct {
	kind    kind.Kind
	objects map[string]*unstructured.Unstructured
}

// serves reports whether a step is a write whose result depends on the kind. The server itself rejects a
// wrong version, and apply is not part of this package.
func (p *minimalServer) serves(s golden.Step) bool {
	if !strings.HasPrefix(s.Path, "/apis/samplecrd.example.com/") ||
		strings.Contains(s.Body, "samplecrd.example.com/v2") {
		return false
	}
	return s.Method == "POST" || s.Method == "PATCH" && s.Headers["Content-Type"] == "application/merge-patch+json"
}

// answer returns the body of the response to a write, and the texts of Warning headers.
func (p *minimalServer) answer(t *testing.T, s golden.Step) ([]byte, []string) {
	t.Helper()
	body, name, sub := []byte(s.Body), path.Base(s.Path), ""
	if name == "status" {
		name, sub = path.Base(path.Dir(s.Path)), name
	}
	var old kind.Object
	if s.Method == "PATCH" {
		was := p.objects[name]
		old = was
		body = p.patched(t, was, body)
	}
	obj, strict, err := p.kind.DecodeRequest(networkV1, body, false)
	if err != nil {
		return marshal(t, apierrors.NewBadRequest(err.Error())), nil
	}
	if len(strict) > 0 && strings.Contains(s.Path, "fieldValidation=Strict") {
		text := fmt.Sprintf("Network in version \"v1\" cannot be handled as a Network: strict decoding error: %s",
			strings.Join(strict, ", "))
		return marshal(t, apierrors.NewBadRequest(text)), nil
	}
	obj.SetNamespace("default")
	p.kind.Prepare(obj, old, sub)
	if errs := p.kind.Validate(t.Context(), obj, old, sub); len(errs) > 0 {
		gvk := obj.GetObjectKind().GroupVersionKind()
		return marshal(t, apierrors.NewInvalid(schema.GroupKind{Group: gvk.Group, Kind: gvk.Kind}, obj.GetName(),
			errs)), strict
	}
	p.objects[obj.GetName()] = obj.(*unstructured.Unstructured)
	data, err := p.kind.Encode(networkV1, obj)
	if err != nil {
		t.Fatal(err)
	}
	return data, strict
}

func (p *minimalServer) patched(t *testing.T, u *unstructured.Unstructured, patch []byte) []byte {
	t.Helper()
	data, err := p.kind.Encode(networkV1, u)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = jsonpatch.MergePatch(data, patch); err != nil {
		t.Fatal(err)
	}
	return data
}

func marshal(t *testing.T, err *apierrors.StatusError) []byte {
	t.Helper()
	status := err.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	data, failure := json.Marshal(status)
	if failure != nil {
		t.Fatal(failure)
	}
	return data
}

// difference compares a response with the recorded one, ignoring what a server adds and the order of causes.
func difference(t *testing.T, s golden.Step, answer []byte, warnings []string) string {
	var got any
	if err := json.Unmarshal(answer, &got); err != nil {
		return err.Error()
	}
	want, got := golden.Normalize(s.Response.JSON(t)), golden.Normalize(got)
	if !reflect.DeepEqual(want, got) {
		wantJSON, _ := json.Marshal(want)
		gotJSON, _ := json.Marshal(got)
		return fmt.Sprintf("\nwant %s\ngot  %s", wantJSON, gotJSON)
	}
	header := ""
	if len(warnings) > 0 {
		header = fmt.Sprintf("299 - %q", strings.Join(warnings, ", "))
	}
	if want := s.Response.Headers["warning"]; want != header {
		return fmt.Sprintf("want warning %s, got %s", want, header)
	}
	return ""
}
