package read

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/internal/object"
)

// The label marks of objects skip no selected object: for every kind of label selector, the result with marks
// equals that without, over objects with all combinations of a few labels.
func TestMarksMatchAllSelectedObjects(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var objects []*object.Object
	for i := range 400 {
		set := map[string]string{}
		for n := range random.IntN(6) {
			set[fmt.Sprintf("k%d", n)] = fmt.Sprint(random.IntN(4))
		}
		e, err := object.NewEncoding(object.Form{},
			fmt.Appendf(nil, `{"metadata":{"resourceVersion":"%s"}}`, object.RevisionPlaceholder))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object.New(object.Header{Key: object.Key(fmt.Sprintf("/maps/n/%d", i)), Labels: set},
			nil, e))
	}
	passed := 0
	for _, text := range []string{
		"k0=1", "k0==2,k1=3", "k0 in (1,2)", "k0 in (0,1,2,3,4,5,6,7,8,9,10)", "k0 notin (1)", "k0!=1", "k0", "!k0",
		"k0>1", "k1<3,k2", "k0=,k1", "k9=1",
	} {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s := &selection{}
		s.selectLabels(selector)
		for _, o := range objects {
			if want := selector.Matches(labels.Set(o.Labels)); s.matches(o) != want {
				t.Errorf("%q of %v: %t, want %t", text, o.Labels, !want, want)
			}
			if !s.mayMatch(o.Mark()) {
				passed++
			}
		}
	}
	if passed < 1000 {
		t.Errorf("marks skipped only %d objects, want at least 1000", passed)
	}
}
