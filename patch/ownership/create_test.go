package ownership

import (
	"fmt"
	"hash/fnv"
	"math/rand"
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/kind/builtin"
	"github.com/bowline-dev/bowline/object"
)

// TestCreateOwnsWhatTheLibrarySays fills objects of every kind at random, and compares the ownership that one walk writes
// with what the library finds.
func TestCreateOwnsWhatTheLibrarySays(t *testing.T) {
	t.Parallel()
	const seed, each = 7, 30
	fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs), rand.NewSource(seed), serializer.NewCodecFactory(scheme.Scheme))
	fill.NilChance(0.4).NumElements(0, 2).MaxDepth(12)
	fill.Funcs(func(j *apiextensionsv1.JSON, _ randfill.Continue) { j.Raw = []byte(`{"a":[1,"b"]}`) })
	for _, k := range builtin.Kinds(object.NewCache(0)) {
		walked := 0
		for range each {
			obj := k.New()
			gvk := obj.GetObjectKind().GroupVersionKind()
			fill.Fill(obj)
			spell(reflect.ValueOf(obj))
			obj.GetObjectKind().SetGroupVersionKind(gvk)
			obj.SetManagedFields(nil)
			obj.SetUID("")
			want := obj.DeepCopyObject().(kind.Object)
			o := New(k)
			if !o.create(gvk.GroupVersion().String(), obj, "m") {
				continue
			}
			walked++
			if err := o.update(gvk.GroupVersion().String(), "", nil, want, "m"); err != nil {
				t.Errorf("%s: the library refuses what was walked: %v", gvk.Kind, err)
				continue
			}
			if got, want := owned(t, obj), owned(t, want); got != want {
				t.Fatalf("%s: the walk found\n%s\nand the library\n%s", gvk.Kind, got, want)
			}
		}
		t.Logf("%s: %d of %d", k.Info().Kind, walked, each)
		if k.Info().Kind == "ControllerRevision" {
			continue // its data is an object of any kind, which is the library's to read
		}
		if walked < each/4 {
			t.Errorf("%s: only %d of %d objects were walked", k.Info().Kind, walked, each)
		}
	}
}

// spell gives every string that is filled a plain one of its own.
func spell(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			spell(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			spell(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			spell(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(key))
			spell(item)
			v.SetMapIndex(key, reflect.Value{})
			plain := reflect.New(key.Type()).Elem()
			plain.Set(key)
			spell(plain)
			v.SetMapIndex(plain, item)
		}
	case reflect.String:
		if v.CanSet() && v.Len() > 0 {
			sum := fnv.New32()
			sum.Write([]byte(v.String()))
			v.SetString(fmt.Sprintf("%x", sum.Sum32()))
		}
	}
}

// owned is what one manager owns, as text.
func owned(t *testing.T, obj runtime.Object) string {
	entries := obj.(metav1.Object).GetManagedFields()
	if len(entries) == 0 {
		return ""
	}
	e := entries[0]
	if len(entries) != 1 || e.Manager != "m" || e.Operation != metav1.ManagedFieldsOperationUpdate || e.FieldsType != "FieldsV1" || e.Time == nil {
		t.Fatalf("%+v", entries)
	}
	return e.APIVersion + string(e.FieldsV1.GetRawBytes())
}
