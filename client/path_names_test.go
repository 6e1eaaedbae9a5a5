package client_test

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
)

// A name that is a way to somewhere else, which users may type, leads nowhere: "..", deleted as a ConfigMap, is no
// namespace.
func TestPathNamesAreRejected(t *testing.T) {
	t.Parallel()
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("unexpected request %s %s", r.Method, r.URL.Path)
		answer(w, 200, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`)
	})
	maps, source, ctx := client.Of[*corev1.ConfigMap](c, configmaps), client.NewSource(c), t.Context()
	named := func(namespace, name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	for what, do := range map[string]func(astray string) error{
		"get":    func(astray string) error { _, err := maps.Get(ctx, "ns", astray); return err },
		"delete": func(astray string) error { return maps.Delete(ctx, "ns", astray, metav1.DeleteOptions{}) },
		"delete in": func(astray string) error {
			return maps.Delete(ctx, astray, "a", metav1.DeleteOptions{})
		},
		"delete all in": func(astray string) error {
			return maps.DeleteCollection(ctx, astray, metav1.DeleteOptions{}, metav1.ListOptions{})
		},
		"update": func(astray string) error {
			_, err := maps.Update(ctx, named("ns", astray), metav1.UpdateOptions{})
			return err
		},
		"create in": func(astray string) error {
			_, err := maps.Create(ctx, named(astray, "a"), metav1.CreateOptions{})
			return err
		},
		"patch of": func(astray string) error {
			_, err := maps.Patch(ctx, "ns", "a", astray, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			return err
		},
		"list in":  func(astray string) error { _, err := maps.List(ctx, astray, metav1.ListOptions{}); return err },
		"watch in": func(astray string) error { _, err := maps.Watch(ctx, astray, metav1.ListOptions{}); return err },
		"source in": func(astray string) error {
			_, err := source.List(ctx, configmaps, client.Options{Namespace: astray})
			return err
		},
		"source of changes in": func(astray string) error {
			_, err := source.Watch(ctx, configmaps, client.Options{Namespace: astray})
			return err
		},
	} {
		for _, astray := range []string{"..", ".", "a/b", "../../x", "a%2fb"} {
			if err := do(astray); err == nil || !strings.Contains(err.Error(), `"`+astray+`"`) {
				t.Errorf("%s %s: %v", what, astray, err)
			}
		}
	}
}
