package ownership

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestListLimits checks which lists are too long to have an owner for each item.
func TestListLimits(t *testing.T) {
	t.Parallel()
	texts := func(n int) (list []any) {
		for i := range n {
			list = append(list, fmt.Sprintf("example.com/f%d", i))
		}
		return list
	}
	podWith := func(containers, variables, args int) runtime.Object {
		var all []any
		for i := range containers {
			var env []any
			for j := range variables {
				env = append(env, map[string]any{"name": fmt.Sprintf("E%d", j)})
			}
			all = append(all, map[string]any{"name": fmt.Sprintf("c%d", i), "env": env, "args": texts(args)})
		}
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"containers": all}}}
	}
	finalizers := func(n int) runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"finalizers": texts(n)}}}
	}
	stored := &corev1.Pod{}
	stored.Finalizers = make([]string, maxListItems+1)
	for _, k := range builtin.Kinds(object.NewCache(1 << 20)) {
		if k.Info().Kind != "Pod" {
			continue
		}
		owners := New(k)
		gvk := corev1.SchemeGroupVersion.WithKind("Pod")
		for name, c := range map[string]struct {
			obj    runtime.Object
			refuse bool
		}{
			"a set":                       {finalizers(maxListItems), false},
			"a long set":                  {finalizers(maxListItems + 1), true},
			"lists with keys":             {podWith(10, 1_200, 0), false},
			"long lists with keys":        {podWith(10, 1_300, 0), true},
			"a list without owners":       {podWith(1, 0, 90_000), false},
			"a Go struct":                 {&corev1.Pod{}, false},
			"a Go struct with a long set": {stored, true},
		} {
			if err := owners.checkLists(gvk, c.obj); (err != nil) != c.refuse {
				t.Errorf("%s: got error %v, want one: %t", name, err, c.refuse)
			}
		}
		return
	}
	t.Fatal("there is no kind Pod")
}
