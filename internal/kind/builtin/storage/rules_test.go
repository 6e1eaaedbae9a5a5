package storage

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// now is the time of the tables in tests, and created the creation time of their objects.
var (
	now     = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	created = metav1.NewTime(now.Add(-3 * time.Minute))
)

// rule is an object, optionally with its old state, and the expected errors.
type rule struct {
	name, body, old string
	sub             string
	want            []string
}

// check validates each object, a JSON body without kind and apiVersion, and compares the errors.
func check(t *testing.T, k kind.Kind, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			var old kind.Object
			if r.old != "" {
				old = read(t, k, r.old)
			}
			var got []string
			for _, e := range k.Validate(t.Context(), read(t, k, r.body), old, r.sub) {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, k kind.Kind, body string) kind.Object {
	t.Helper()
	obj, strict, err := k.DecodeRequest(object.Form{APIVersion: "storage.k8s.io/v1"}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	return obj
}

// overlay returns a body with some fields replaced, or removed if their value is null.
func overlay(t *testing.T, body, changes string) string {
	t.Helper()
	merged := map[string]any{}
	for _, text := range []string{body, changes} {
		if err := json.Unmarshal([]byte(text), &merged); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	data, err := json.Marshal(merged)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// checkRow compares the cells of an object that was created three minutes ago, without the name and the age.
func checkRow(t *testing.T, k kind.Kind, body string, want ...any) {
	t.Helper()
	obj := read(t, k, body)
	obj.SetName("a")
	obj.SetCreationTimestamp(created)
	row, err := k.Row(obj, "storage.k8s.io/v1", now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(append([]any{"a"}, want...), "3m"), row); diff != "" {
		t.Errorf("the row of %s (-want +got):\n%s", body, diff)
	}
	if columns := k.Columns("storage.k8s.io/v1"); len(columns) != len(row) {
		t.Errorf("%d columns, and %d cells", len(columns), len(row))
	}
}

// checkWarnings compares the warnings of a write.
func checkWarnings(t *testing.T, k kind.Kind, body, old string, want ...string) {
	t.Helper()
	var was kind.Object
	if old != "" {
		was = read(t, k, old)
	}
	if diff := cmp.Diff(want, k.Warnings(read(t, k, body), was, "")); diff != "" {
		t.Errorf("the warnings of %s (-want +got):\n%s", body, diff)
	}
}

// TestOldVersionsAreDeprecated checks that v1beta1 objects are stored as v1, with the defaults of v1.
func TestOldVersionsAreDeprecated(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"CSIDriver":          "storage.k8s.io/v1beta1 CSIDriver is deprecated in v1.19+, unavailable in v1.22+; use storage.k8s.io/v1 CSIDriver",
		"CSINode":            "storage.k8s.io/v1beta1 CSINode is deprecated in v1.17+, unavailable in v1.22+; use storage.k8s.io/v1 CSINode",
		"CSIStorageCapacity": "storage.k8s.io/v1beta1 CSIStorageCapacity is deprecated in v1.24+, unavailable in v1.27+; use storage.k8s.io/v1 CSIStorageCapacity",
		"StorageClass":       "storage.k8s.io/v1beta1 StorageClass is deprecated in v1.19+, unavailable in v1.22+; use storage.k8s.io/v1 StorageClass",
		"VolumeAttachment":   "storage.k8s.io/v1beta1 VolumeAttachment is deprecated in v1.19+, unavailable in v1.22+; use storage.k8s.io/v1 VolumeAttachment",
	}
	for _, k := range Kinds(object.NewCache(1)) {
		info := k.Info()
		for _, e := range info.Endpoints[1:] {
			if e.Deprecated != want[info.Kind] {
				t.Errorf("%s warns %q, want %q", info.Kind, e.Deprecated, want[info.Kind])
			}
			if len(info.SubresourcesOf(e.GroupVersion())) > 0 {
				t.Errorf("%s of v1beta1 has subresources", info.Kind)
			}
			form := object.Form{APIVersion: e.APIVersion(), Format: object.JSON}
			obj, _, err := k.DecodeRequest(form, []byte(`{"metadata":{"name":"a"}}`), false)
			if err != nil {
				t.Fatal(err)
			}
			if gvk := obj.GetObjectKind().GroupVersionKind(); gvk.Version != "v1" {
				t.Errorf("a v1beta1 object is decoded as %s", gvk)
			}
			data, err := k.Encode(form, obj)
			if err != nil {
				t.Fatal(err)
			}
			again := metav1.PartialObjectMetadata{}
			if err := json.Unmarshal(data, &again); err != nil || again.APIVersion != "storage.k8s.io/v1beta1" {
				t.Errorf("a v1beta1 object is encoded as %s, %v", data, err)
			}
		}
		delete(want, info.Kind)
	}
	if len(want) > 0 {
		t.Errorf("without a v1beta1 endpoint: %v", want)
	}
}

func TestFinalizersNeedADomain(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds(object.NewCache(1)) {
		obj := read(t, k, `{"metadata":{"finalizers":["foregroundDeletion","example.com/a","mine"]}}`)
		const want = `metadata.finalizers[2]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`
		count := 0
		for _, e := range k.Validate(t.Context(), obj, nil, "") {
			if e.Field == "metadata.finalizers[2]" && e.Error() == want {
				count++
			}
		}
		if count != 1 {
			t.Errorf("%s: %d errors about the finalizer, want one", k.Info().Kind, count)
		}
	}
}

// TestEmptyObjectsDoNotPanic checks objects without defaults, as a damaged store may have them.
func TestEmptyObjectsDoNotPanic(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds(object.NewCache(1)) {
		for _, sub := range []string{"", "status"} {
			k.Validate(t.Context(), k.New(), k.New(), sub)
		}
		k.Validate(t.Context(), k.New(), nil, "")
		k.Warnings(k.New(), nil, "")
		k.Warnings(k.New(), k.New(), "")
		k.Prepare(k.New(), nil, "")
		if _, err := k.Row(k.New(), "storage.k8s.io/v1", now); err != nil {
			t.Error(err)
		}
	}
}
