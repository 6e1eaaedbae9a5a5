package builtin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
)

// These tests replay recordings of a real API server with the kinds alone: decode, default, prepare,
// validate. The tests of package server replay what the server adds (names in URLs, deletes, lists).

// replayed lists the steps that depend only on the kinds, with a lower bound for their number.
var replayed = map[string]struct {
	from, to int // a range of steps; to == 0 means the end
	least    int
}{
	"pods.json":            {0, 0, 30},
	"deployments.json":     {0, 0, 15},
	"configmap-patch.json": {26, 35, 8},
	"kinds.json":           {34, 36, 2},
}

func TestPodsAndWorkloadsMatchRecordings(t *testing.T) {
	t.Parallel()
	for file, part := range replayed {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			w := newFixture()
			steps := golden.Steps(t, file)
			if part.to == 0 {
				part.to = len(steps)
			}
			done := 0
			for i, s := range steps[part.from:part.to] {
				got, ok := w.answer(t, s)
				if !ok {
					continue
				}
				done++
				if diff := cmp.Diff(plain(t, s.Response.Body), plain(t, got)); diff != "" {
					t.Errorf("%s[%d] %s %s: -recorded +answered\n%s", file, part.from+i, s.Method, s.Path, diff)
				}
			}
			t.Logf("%s: %d steps answered", file, done)
			if done < part.least {
				t.Errorf("%s: %d steps answered, want at least %d", file, done, part.least)
			}
		})
	}
}

// fixture holds the stored objects by path.
type fixture struct {
	kinds   map[string]kind.Kind
	objects map[string]kind.Object
}

func newFixture() *fixture {
	w := &fixture{kinds: map[string]kind.Kind{}, objects: map[string]kind.Object{}}
	for _, k := range builtin.Kinds(object.NewCache(1 << 20)) {
		w.kinds[k.Info().Plural] = k
	}
	return w
}

// answer responds to one step. ok is false if the response does not depend on the kinds.
func (w *fixture) answer(t *testing.T, s golden.Step) (body any, ok bool) {
	path, query, _ := strings.Cut(s.Path, "?")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	at := 5 // index of the name, after api, v1, namespaces, default, pods
	if parts[0] == "apis" {
		at = 6
	}
	if len(parts) < at || w.kinds[parts[at-1]] == nil || s.Response.Status == http.StatusBadRequest || query != "" &&
		s.Method != "DELETE" {
		return nil, false
	}
	k := w.kinds[parts[at-1]]
	info := k.Info()
	form := object.Form{APIVersion: info.Endpoints[0].APIVersion(), Format: object.JSON}
	key, sub := "", ""
	if len(parts) > at {
		key = parts[at-1] + "/" + parts[at]
	}
	if len(parts) > at+1 {
		sub = parts[at+1]
	}
	switch {
	case s.Method == "POST" && key == "":
		return w.create(t, k, form, s)
	case s.Method == "DELETE":
		delete(w.objects, key) // the server makes the response
		return nil, false
	case w.objects[key] == nil:
		return nil, false
	case s.Method == "GET" && sub == "" && strings.Contains(s.Headers["Accept"], "as=Table"):
		return w.table(t, k, w.objects[key], s), true
	case s.Method == "GET" && sub == "" && s.Response.Status == http.StatusOK:
		return w.objects[key], true
	case sub == "scale" || sub == "binding":
		return w.subresource(t, k, key, sub, s), true
	case s.Method == "PATCH" && s.Response.Status != http.StatusInternalServerError:
		return w.patch(t, k, form, key, sub, s), true
	}
	return nil, false
}

func (w *fixture) create(t *testing.T, k kind.Kind, form object.Form, s golden.Step) (any, bool) {
	if s.Response.Status != http.StatusCreated && s.Response.Status != http.StatusUnprocessableEntity {
		return nil, false
	}
	obj, strict, err := k.DecodeRequest(form, []byte(s.Body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	obj.SetNamespace("default")
	admit(obj)
	k.Prepare(obj, nil, "")
	if errs := k.Validate(t.Context(), obj, nil, ""); len(errs) > 0 {
		return invalid(k, obj.GetName(), errs), true
	}
	w.objects[k.Info().Plural+"/"+obj.GetName()] = obj
	return obj, true
}

// admit does what the admission plugins of the recorded server did to every pod.
func admit(obj kind.Object) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == key }) {
			continue
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: new(int64(300)),
		})
	}
	pod.Spec.Priority = new(int32(0))
	pod.Spec.PreemptionPolicy = new(corev1.PreemptLowerPriority)
}

func (w *fixture) patch(t *testing.T, k kind.Kind, form object.Form, key, sub string, s golden.Step) any {
	old := w.objects[key]
	before, err := k.Encode(form, old)
	if err != nil {
		t.Fatal(err)
	}
	var after []byte
	if strings.Contains(s.Headers["Content-Type"], "strategic") {
		after, err = strategicpatch.StrategicMergePatch(before, []byte(s.Body), k.Prototype(form.APIVersion))
	} else {
		after, err = jsonpatch.MergePatch(before, []byte(s.Body))
	}
	if err != nil {
		t.Fatal(err)
	}
	obj, _, err := k.DecodeRequest(form, after, false)
	if err != nil {
		t.Fatal(err)
	}
	if sub == "" {
		admit(obj)
	}
	k.Prepare(obj, old, sub)
	if errs := k.Validate(t.Context(), obj, old, sub); len(errs) > 0 {
		return invalid(k, old.GetName(), errs)
	}
	w.objects[key] = obj
	return obj
}

// subresource reads or writes a subresource with its own kind.
func (w *fixture) subresource(t *testing.T, k kind.Kind, key, sub string, s golden.Step) any {
	r, old := k.Info().Subresource(sub), w.objects[key]
	if s.Method == "GET" {
		view, err := r.View(old)
		if err != nil {
			t.Fatal(err)
		}
		return view
	}
	obj, body := old.DeepCopyObject().(kind.Object), r.New()
	if err := json.Unmarshal([]byte(s.Body), body); err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(obj, body); err != nil {
		return refused(err)
	}
	k.Prepare(obj, old, sub)
	if errs := k.Validate(t.Context(), obj, old, sub); len(errs) > 0 {
		return invalid(k, old.GetName(), errs)
	}
	w.objects[key] = obj
	if r.View == nil {
		return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
			Code: http.StatusCreated}
	}
	view, err := r.View(obj)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

// table returns a Table with the recorded age, which depends on the clock.
func (w *fixture) table(t *testing.T, k kind.Kind, obj kind.Object, s golden.Step) any {
	var recorded metav1.Table
	if err := json.Unmarshal(s.Response.Body, &recorded); err != nil {
		t.Fatal(err)
	}
	apiVersion := k.Info().Endpoints[0].APIVersion()
	cells, err := k.Row(obj, apiVersion, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	columns := k.Columns(apiVersion)
	for i, c := range columns {
		if c.Name == "Age" {
			cells[i] = recorded.Rows[0].Cells[i]
		}
	}
	recorded.ColumnDefinitions = columns
	recorded.Rows[0].Cells = cells
	return &recorded
}

func invalid(k kind.Kind, name string, errs field.ErrorList) any {
	gk := schema.GroupKind{Group: k.Info().Endpoints[0].Group, Kind: k.Info().Kind}
	return refused(apierrors.NewInvalid(gk, name, errs))
}

func refused(err error) any {
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		return fmt.Sprintf("no status: %v", err)
	}
	s := status.Status()
	s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return &s
}

// plain returns a body as JSON without the values that differ between runs.
func plain(t *testing.T, body any) any {
	t.Helper()
	data, ok := body.(json.RawMessage)
	if !ok {
		var err error
		if data, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return dropServerSet(v)
}

func dropServerSet(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields",
			"lastTransitionTime"} {
			delete(v, key)
		}
		for key := range v {
			v[key] = dropServerSet(v[key])
		}
	case []any:
		for i := range v {
			v[i] = dropServerSet(v[i])
		}
	}
	return v
}
