package ownership

import (
	"fmt"
	"hash/fnv"
	"math/rand"
	"reflect"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/bowline-dev/bowline/internal/kind"
)

// filler returns a filler for random objects.
func filler(seed int64) *randfill.Filler {
	codecs := serializer.NewCodecFactory(scheme.Scheme)
	fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs), rand.NewSource(seed),
		codecs).NilChance(0.4).MaxDepth(12)
	return fill.Funcs(
		func(j *apiextensionsv1.JSON, _ randfill.Continue) { j.Raw = []byte(`{"a":[1,"b"]}`) },
		// The type is the key of a condition in its list, and optional: the library rejects a list without it.
		func(c *flowcontrolv1.FlowSchemaCondition, _ randfill.Continue) { c.Type = "any" },
		func(c *flowcontrolv1.PriorityLevelConfigurationCondition, _ randfill.Continue) { c.Type = "any" },
	)
}

// filled returns a random object of a kind without managedFields.
func filled(fill *randfill.Filler, k kind.Kind) kind.Object {
	obj := k.New()
	gvk := obj.GetObjectKind().GroupVersionKind()
	fill.Fill(obj)
	fillStrings(reflect.ValueOf(obj))
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	obj.SetManagedFields(nil)
	obj.SetUID("")
	return obj
}

// fillStrings replaces every non-empty string with a unique plain one.
func fillStrings(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			fillStrings(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fillStrings(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			fillStrings(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(key))
			fillStrings(item)
			v.SetMapIndex(key, reflect.Value{})
			plain := reflect.New(key.Type()).Elem()
			plain.Set(key)
			fillStrings(plain)
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
