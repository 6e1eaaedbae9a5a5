package resource

import (
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/bowline-dev/bowline/internal/kind"
)

// TestV1beta1KeepsFields checks that a conversion to v1beta1 and back loses no field.
func TestV1beta1KeepsFields(t *testing.T) {
	t.Parallel()
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), serializer.NewCodecFactory(scheme.Scheme)).
		NilChance(0.3).NumElements(1, 2).MaxDepth(14).Funcs(func(r *runtime.RawExtension, _ randfill.Continue) {
		r.Raw = []byte(`{"a":"<b>"}`)
	}, func(r *resourcev1.ExactDeviceRequest, c randfill.Continue) {
		c.FillNoCustom(r)
		r.DeviceClassName = "gpu" // v1beta1 has no empty request
	}, func(s *resourcev1.ResourceSliceSpec, c randfill.Continue) {
		c.FillNoCustom(s)
		s.NodeName, s.AllNodes = new("n"), new(true) // v1beta1 has no pointers
	})
	for range 100 {
		keepsFields(t, fill, &resourcev1.ResourceClaim{}, claimVersions())
		keepsFields(t, fill, &resourcev1.ResourceClaimTemplate{}, claimTemplateVersions())
		keepsFields(t, fill, &resourcev1.ResourceSlice{}, sliceVersions())
	}
}

func keepsFields[P runtime.Object](t *testing.T, fill *randfill.Filler, obj P, versions map[string]kind.Version[P]) {
	t.Helper()
	fill.Fill(obj)
	obj.GetObjectKind().SetGroupVersionKind(resourcev1.SchemeGroupVersion.WithKind("")) // a conversion drops it
	before := obj.DeepCopyObject()
	old, err := versions[legacy].FromHub(obj)
	if err != nil {
		t.Fatal(err)
	}
	if gv := old.GetObjectKind().GroupVersionKind().GroupVersion(); gv != v1beta1.SchemeGroupVersion {
		t.Errorf("the old object says %s", gv)
	}
	back, err := versions[legacy].ToHub(old)
	if err != nil {
		t.Fatal(err)
	}
	back.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	if !equality.Semantic.DeepEqual(before, runtime.Object(back)) {
		t.Fatalf("(-before +after):\n%s", cmp.Diff(before, runtime.Object(back)))
	}
}

// TestOldRequestWithoutFields checks that a request of v1beta1 has the form exactly only if one of its fields is set.
func TestOldRequestWithoutFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request v1beta1.DeviceRequest
		exactly bool
	}{
		{v1beta1.DeviceRequest{Name: "r", FirstAvailable: []v1beta1.DeviceSubRequest{{Name: "s"}}}, false},
		{v1beta1.DeviceRequest{Name: "r", Selectors: []v1beta1.DeviceSelector{}}, true},
		{v1beta1.DeviceRequest{Name: "r", Count: 1}, true},
	} {
		var r resourcev1.DeviceRequest
		if err := requestToHub(c.request, &r); err != nil || (r.Exactly != nil) != c.exactly ||
			len(r.FirstAvailable) != len(c.request.FirstAvailable) {
			t.Errorf("%v becomes %v, %v", c.request, r, err)
		}
	}
}
