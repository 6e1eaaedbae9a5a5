package doctor

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
)

// TestFullStoreIsFound fills nine tenths of a store.
func TestFullStoreIsFound(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.With(func(o *bowline.Options) { o.MaxBytes = 1 << 20 }))
	d, _ := doctorOf(t, p, nil)
	find := func() []finding {
		d.findings = nil
		if err := d.room(t.Context()); err != nil {
			t.Fatal(err)
		}
		return d.findings
	}
	if found := find(); len(found) != 0 {
		t.Errorf("in an empty store it found %v", found)
	}
	mustCreate(t, bowlinetest.Client[*corev1.ConfigMap](t, p), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"},
		Data:       map[string]string{"k": strings.Repeat("v", 950_000)},
	})
	if found := find(); len(found) != 1 || found[0].Blocker != "the store" ||
		!strings.Contains(found[0].Problem, "of at most 1048576 bytes") {
		t.Errorf("in a full store it found %+v", found)
	}
}
