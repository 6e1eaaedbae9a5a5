package patch_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/patch"
)

// list returns n JSON values, each made of format and its index, separated by commas.
func list(format string, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestCostlyStrategicPatchIsRefused checks which patches are a 413, because the library would compare too many list
// items.
func TestCostlyStrategicPatchIsRefused(t *testing.T) {
	t.Parallel()
	account := func(n int) string { return `{"secrets":[` + list(`{"name":"s%d"}`, n) + `]}` }
	order := func(n int) string { return `"$setElementOrder/secrets":[` + list(`{"name":"s%d"}`, n) + `]` }
	deployment := func(container string) string {
		return `{"spec":{"template":{"spec":{"containers":[` + container + `]}}}}`
	}
	env := func(name string, n int) string {
		return `{"name":"` + name + `","image":"i","env":[` + list(`{"name":"E%d"}`, n) + `]}`
	}
	empty := `{"name":"c","env":[]}`
	for _, c := range []struct {
		name       string
		prototype  runtime.Object
		was, patch string
		refused    bool
	}{
		{"a list that the object does not have", &corev1.ServiceAccount{}, `{}`, account(20_000), false},
		{"an item for a list of 1,400", &corev1.ServiceAccount{}, account(1_400), `{"secrets":[{"name":"a"}]}`, false},
		{"an item for a list of 5,000", &corev1.ServiceAccount{}, account(5_000), `{"secrets":[{"name":"a"}]}`, true},
		{"no items for a list of 5,000", &corev1.ServiceAccount{}, account(5_000), `{"secrets":[]}`, true},
		{"an empty deletion from a list of 5,000", &corev1.ServiceAccount{}, account(5_000),
			`{"$deleteFromPrimitiveList/secrets":[]}`, true},
		{"an empty order of a list of 5,000", &corev1.ServiceAccount{}, account(5_000),
			`{"$setElementOrder/secrets":[]}`, true},
		{"$setElementOrder of 800 on 800 items", &corev1.ServiceAccount{}, account(800), "{" + order(800) + "}", false},
		{"$setElementOrder of 20,000 on 100 items", &corev1.ServiceAccount{}, account(100), "{" + order(20_000) + "}", true},
		{"5,000 items for an empty list", &corev1.ServiceAccount{}, account(0), account(5_000), true},
		{"names of 4 KiB", &corev1.ServiceAccount{}, account(700),
			`{"secrets":[{"name":"` + strings.Repeat("x", 4_096) + `"}]}`, true},
		{"a replacement of a list of 5,000", &corev1.ServiceAccount{}, account(5_000),
			`{"$patch":"replace","secrets":[{"name":"a"}]}`, false},
		{"args are replaced, not merged", &appsv1.Deployment{},
			deployment(`{"name":"c","args":[` + list(`"%d"`, 5_000) + `]}`),
			deployment(`{"name":"c","args":[` + list(`"%d"`, 4_000) + `]}`), false},
		{"an order of arguments", &appsv1.Deployment{}, deployment(`{"name":"c","args":[` + list(`"%d"`, 5_000) + `]}`),
			deployment(`{"name":"c","$setElementOrder/args":[` + list(`"%d"`, 5_000) + `]}`), true},
		{"1,400 containers with a variable", &appsv1.Deployment{}, deployment(env("c", 1)),
			deployment(list(`{"name":"c%d","env":[{"name":"a"}]}`, 1_400)), false},
		{"variables of items with the same name", &appsv1.Deployment{}, deployment(env("d", 1)),
			deployment(env("c", 1_200) + "," + env("c", 1_200) + "," + env("c", 1_200)), true},
		{"items whose key is null", &appsv1.Deployment{}, deployment(env("c", 1)),
			deployment(strings.ReplaceAll(env("c", 1_200)+","+env("c", 1_200), `"name":"c"`, `"name":null`)), true},
		{"101 items for one stored container, each sorting its env", &appsv1.Deployment{}, deployment(env("c", 400)),
			deployment(empty + strings.Repeat(","+empty, 100)), true},
		{"101 items for one new container, each sorting its env", &appsv1.Deployment{}, deployment(env("d", 1)),
			deployment(env("c", 400) + strings.Repeat(","+empty, 100)), true},
		{"finalizers", &corev1.Pod{}, `{"metadata":{"finalizers":[` + list(`"e.com/f%d"`, 3_000) + `]}}`,
			`{"metadata":{"finalizers":["e.com/a"]}}`, true},
		{"deletions of finalizers", &corev1.Pod{}, `{"metadata":{"finalizers":[` + list(`"e.com/f%d"`, 3_000) + `]}}`,
			`{"metadata":{"$deleteFromPrimitiveList/finalizers":[` + list(`"e.com/f%d"`, 3_000) + `]}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := patch.Apply(types.StrategicMergePatchType, []byte(c.was), []byte(c.patch), c.prototype, false)
			switch refused := apierrors.IsRequestEntityTooLargeError(err); {
			case refused != c.refused:
				t.Errorf("refused: %t, want %t (error: %v)", refused, c.refused, err)
			case !refused && err != nil:
				t.Error(err)
			}
		})
	}
}

// TestInvalidStrategicPatchIsBadRequest checks that patches for which the library panics, or which it would merge
// unchecked, are a 400.
func TestInvalidStrategicPatchIsBadRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, was, patch, text string }{
		{"an object as a key", `{"secrets":[{"name":{}}]}`, `{"secrets":[{"name":{}}]}`, "invalid strategic merge patch"},
		{"an object in retainKeys", `{"secrets":[]}`, `{"$retainKeys":[{}]}`, "invalid strategic merge patch"},
		{"an object in an order", `{"metadata":{"finalizers":["a"]}}`,
			`{"metadata":{"$setElementOrder/finalizers":[{}]}}`, "invalid strategic merge patch"},
		{"a deletion of an object", `{"metadata":{}}`, `{"$deleteFromPrimitiveList/metadata":{}}`, "must not contain objects"},
		{"a deletion of objects", `{"secrets":[{"name":"a"}]}`, `{"$deleteFromPrimitiveList/secrets":[{"name":"a"}]}`,
			"must not contain objects"},
		{"a deletion directive in a list item", `{"metadata":{}}`,
			`{"metadata":{"ownerReferences":[{"uid":"a","$deleteFromPrimitiveList/x":[[]]}]}}`, "must not contain objects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := patch.Apply(types.StrategicMergePatchType, []byte(c.was), []byte(c.patch),
				&corev1.ServiceAccount{}, false)
			var status apierrors.APIStatus
			if status, _ = err.(apierrors.APIStatus); status == nil || status.Status().Code != http.StatusBadRequest {
				t.Fatalf("got %v, want a 400", err)
			}
			if !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %q, want a message with %q", err, c.text)
			}
		})
	}
}
