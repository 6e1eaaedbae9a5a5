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

	"github.com/bowline-dev/bowline/internal/golden/recorded"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/object"
)

var networkV1 = object.Form{APIVersion: "samplecrd.example.com/v1"}

// TestRecordedObjects sends the custom resources of the recording through the kind and compares what comes out with
// what a kube-apiserver answered.
func TestRecordedObjects(t *testing.T) {
	t.Parallel()
	steps := recorded.Steps(t, "crd.json")
	plane := &small{kind: newKind(t, steps[0].Body), objects: map[string]*unstructured.Unstructured{}}
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
	steps := recorded.Steps(t, "crd.json")
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

// small is as much of a server as the recorded writes need: it keeps objects and knows no metadata.
type small struct {
	kind    kind.Kind
	objects map[string]*unstructured.Unstructured
}

// serves says that a step is a write which the kind decides about: the server answers a wrong version by itself, and
// apply is not here yet.
func (p *small) serves(s recorded.Step) bool {
	if !strings.HasPrefix(s.Path, "/apis/samplecrd.example.com/") || strings.Contains(s.Body, "samplecrd.example.com/v2") {
		return false
	}
	return s.Method == "POST" || s.Method == "PATCH" && s.Headers["Content-Type"] == "application/merge-patch+json"
}

// answer is the answer to a write, with the texts of Warning headers.
func (p *small) answer(t *testing.T, s recorded.Step) ([]byte, []string) {
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
		text := fmt.Sprintf("Network in version \"v1\" cannot be handled as a Network: strict decoding error: %s", strings.Join(strict, ", "))
		return marshal(t, apierrors.NewBadRequest(text)), nil
	}
	obj.SetNamespace("default")
	p.kind.Prepare(obj, old, sub)
	if errs := p.kind.Validate(t.Context(), obj, old, sub); len(errs) > 0 {
		gvk := obj.GetObjectKind().GroupVersionKind()
		return marshal(t, apierrors.NewInvalid(schema.GroupKind{Group: gvk.Group, Kind: gvk.Kind}, obj.GetName(), errs)), strict
	}
	p.objects[obj.GetName()] = obj.(*unstructured.Unstructured)
	data, err := p.kind.Encode(networkV1, obj)
	if err != nil {
		t.Fatal(err)
	}
	return data, strict
}

func (p *small) patched(t *testing.T, u *unstructured.Unstructured, patch []byte) []byte {
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
	data, wrong := json.Marshal(status)
	if wrong != nil {
		t.Fatal(wrong)
	}
	return data
}

// difference is where an answer differs from the recorded one, but for what a server adds and the order of causes.
func difference(t *testing.T, s recorded.Step, answer []byte, warnings []string) string {
	var got any
	if err := json.Unmarshal(answer, &got); err != nil {
		return err.Error()
	}
	want, got := recorded.Plain(s.Response.JSON(t)), recorded.Plain(got)
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
