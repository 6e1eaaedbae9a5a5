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

// A name that changes the path, such as "..", is rejected: deleting the ConfigMap ".." must not delete a namespace.
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
	for what, do := range map[string]func(segment string) error{
		"get from": func(segment string) error {
			resource := configmaps
			resource.Resource = segment
			_, err := client.Of[*corev1.ConfigMap](c, resource).Get(ctx, "ns", "a")
			return err
		},
		"get":    func(segment string) error { _, err := maps.Get(ctx, "ns", segment); return err },
		"delete": func(segment string) error { return maps.Delete(ctx, "ns", segment, metav1.DeleteOptions{}) },
		"delete in": func(segment string) error {
			return maps.Delete(ctx, segment, "a", metav1.DeleteOptions{})
		},
		"delete all in": func(segment string) error {
			return maps.DeleteCollection(ctx, segment, metav1.DeleteOptions{}, metav1.ListOptions{})
		},
		"update": func(segment string) error {
			_, err := maps.Update(ctx, named("ns", segment), metav1.UpdateOptions{})
			return err
		},
		"create in": func(segment string) error {
			_, err := maps.Create(ctx, named(segment, "a"), metav1.CreateOptions{})
			return err
		},
		"patch of": func(segment string) error {
			_, err := maps.Patch(ctx, "ns", "a", segment, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			return err
		},
		"list in":  func(segment string) error { _, err := maps.List(ctx, segment, metav1.ListOptions{}); return err },
		"watch in": func(segment string) error { _, err := maps.Watch(ctx, segment, metav1.ListOptions{}); return err },
		"source in": func(segment string) error {
			_, err := source.List(ctx, configmaps, client.Options{Namespace: segment})
			return err
		},
		"source of changes in": func(segment string) error {
			_, err := source.Watch(ctx, configmaps, client.Options{Namespace: segment})
			return err
		},
	} {
		for _, segment := range []string{"..", ".", "a/b", "../../x", "a%2fb"} {
			if err := do(segment); err == nil || !strings.Contains(err.Error(), `"`+segment+`"`) {
				t.Errorf("%s %s: %v", what, segment, err)
			}
		}
	}
}
