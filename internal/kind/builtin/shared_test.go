package builtin_test

import (
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestDecodeSharedMatchesDecode checks that DecodeShared returns the same object as Decode, for every kind
// in every version and format, and that decoding other objects does not change it. Objects may share parts.
func TestDecodeSharedMatchesDecode(t *testing.T) {
	t.Parallel()
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), serializer.NewCodecFactory(scheme.Scheme))
	fill = fill.NilChance(0.3).NumElements(0, 2).MaxDepth(12).Funcs(func(j *apiextensionsv1.JSON, _ randfill.Continue) {
		j.Raw = []byte(`{"a":1}`)
	})
	for _, k := range builtin.Kinds(object.NewCache(1 << 20)) {
		var shared, own []runtime.Object
		for range 2 {
			obj := k.New()
			says := obj.GetObjectKind().GroupVersionKind()
			fill.Fill(obj)
			obj.GetObjectKind().SetGroupVersionKind(says)
			obj.SetResourceVersion("1")
			for _, e := range k.Info().Endpoints {
				for _, format := range []object.Format{object.JSON, object.Protobuf} {
					o := stored(t, k, object.Form{APIVersion: e.APIVersion(), Format: format}, obj)
					for range 5 { // often enough that parts are shared
						a, err := o().Decoded(kind.CodecOf(k))
						b, err2 := o().Decode(kind.CodecOf(k))
						if err != nil || err2 != nil {
							t.Fatalf("%s: %v, %v", says, err, err2)
						}
						shared, own = append(shared, a), append(own, b)
					}
				}
			}
		}
		if !reflect.DeepEqual(shared, own) {
			t.Errorf("%s (-decoded alone +shared):\n%s", k.Info().Kind, cmp.Diff(own, shared))
		}
	}
}

// stored returns a function that makes objects from a kind's encoding of obj.
func stored(t *testing.T, k kind.Kind, form object.Form, obj kind.Object) func() *object.Object {
	t.Helper()
	codec := kind.CodecOf(k)
	data, err := codec.Encode(form, obj.DeepCopyObject())
	if err != nil {
		t.Fatalf("%s in %s: %v", k.Info().Kind, form.APIVersion, err)
	}
	encoding, err := object.NewEncoding(form, data)
	if err != nil {
		t.Fatalf("%s in %s: %v", k.Info().Kind, form.APIVersion, err)
	}
	return func() *object.Object { return object.New(object.Header{Key: "a"}, codec, encoding) }
}
