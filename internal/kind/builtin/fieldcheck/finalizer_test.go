package fieldcheck_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

func TestWithFinalizers(t *testing.T) {
	t.Parallel()
	rules := fieldcheck.WithFinalizers(func(_, _ *corev1.Secret, subresource string) field.ErrorList {
		return field.ErrorList{field.Required(field.NewPath(subresource), "")}
	})
	const missing = "status: Required value"
	for _, c := range []struct {
		name       string
		finalizers []string
		want       []string
	}{
		{"none", nil, []string{missing}},
		{"standard ones", []string{"kubernetes", "orphan", "foregroundDeletion"}, []string{missing}},
		{"one with a domain", []string{"example.com/a"}, []string{missing}},
		{"one without a domain", []string{"example.com/a", "mine"}, []string{
			`metadata.finalizers[1]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`,
			missing}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, err := range rules(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Finalizers: c.finalizers}}, nil, "status") {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFinalizerErrorsAreBounded(t *testing.T) {
	t.Parallel()
	obj := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Finalizers: make([]string, 100_000)}}
	if n := len(fieldcheck.Finalizers(obj)); n == 0 || n > 1000 {
		t.Errorf("%d errors, want between 1 and 1000", n)
	}
}
