package server_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
)

// Typed clients create, read, update, patch, watch and delete a config map, in each content type that clients
// send.
func TestTypedClientVerbs(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"", jsonType, protobufType} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			exerciseVerbs(t, typed(t, start(t).config, contentType))
		})
	}
}

// The same works over a socket, in protobuf.
func TestTypedClientVerbsOverTLS(t *testing.T) {
	t.Parallel()
	exerciseVerbs(t, typed(t, startTLS(t).config, protobufType))
}

func exerciseVerbs(t *testing.T, clients kubernetes.Interface) {
	ctx, maps := t.Context(), clients.CoreV1().ConfigMaps("default")
	watching := must(maps.Watch(ctx, metav1.ListOptions{}))(t)
	defer watching.Stop()

	created := must(maps.Create(ctx, configMap("a", "k", "1"), metav1.CreateOptions{}))(t)
	created.Data["k"] = "2"
	updated := must(maps.Update(ctx, created, metav1.UpdateOptions{}))(t)
	must(maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"m":"merge"}}`), metav1.PatchOptions{}))(t)
	must(maps.Patch(ctx, "a", types.JSONPatchType, []byte(`[{"op":"add","path":"/data/j","value":"json"}]`),
		metav1.PatchOptions{}))(t)
	patched := must(maps.Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{"data":{"s":"strategic"}}`),
		metav1.PatchOptions{}))(t)
	if got := patched.Data; got["k"] != "2" || got["m"] != "merge" || got["j"] != "json" || got["s"] != "strategic" {
		t.Errorf("after three patches: %v", got)
	}
	if updated.UID != created.UID || updated.ResourceVersion == created.ResourceVersion {
		t.Errorf("the update changed uid %s to %s, revision %s to %s", created.UID, updated.UID,
			created.ResourceVersion, updated.ResourceVersion)
	}
	if got := must(maps.Get(ctx, "a", metav1.GetOptions{}))(t); got.ResourceVersion != patched.ResourceVersion {
		t.Errorf("get gives revision %s, want the last patch's %s", got.ResourceVersion, patched.ResourceVersion)
	}
	if list := must(maps.List(ctx, metav1.ListOptions{}))(t); len(list.Items) != 1 || list.ResourceVersion == "" {
		t.Errorf("list: %+v", list)
	}
	if err := maps.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get after delete: %v", err)
	}
	must(maps.Create(ctx, configMap("b"), metav1.CreateOptions{}))(t)
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, watching, "ADDED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "DELETED a", "ADDED b",
		"DELETED b")
}

// wantEvents receives as many events as are wanted, and compares them.
func wantEvents(t testing.TB, w watch.Interface, want ...string) {
	t.Helper()
	for i, text := range want {
		e, open := <-w.ResultChan()
		if !open {
			t.Fatalf("the watch ended before event %d, %s", i, text)
		}
		obj, ok := e.Object.(metav1.Object)
		if !ok {
			t.Fatalf("event %d: %s %+v, want %s", i, e.Type, e.Object, text)
		}
		if got := string(e.Type) + " " + obj.GetName(); got != text {
			t.Errorf("event %d: %s, want %s", i, got, text)
		}
	}
}

// The dynamic client supports every verb, for an object without a Go struct and for one with a struct.
func TestDynamicClientVerbs(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	maps := w.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
	exerciseDynamicVerbs(t, maps, map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"data": map[string]any{"k": "1"}},
		"data", "k")
	custom := w.dynamic.Resource(widgetsResource).Namespace("default")
	exerciseDynamicVerbs(t, custom, map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
		"spec": map[string]any{"free": map[string]any{"k": "1"}}}, "spec", "free", "k")
}

func exerciseDynamicVerbs(t *testing.T, client dynamic.ResourceInterface, body map[string]any, field ...string) {
	ctx := t.Context()
	obj := &unstructured.Unstructured{Object: body}
	obj.SetName("a")
	created := must(client.Create(ctx, obj, metav1.CreateOptions{}))(t)
	watching := must(client.Watch(ctx, metav1.ListOptions{ResourceVersion: created.GetResourceVersion()}))(t)
	defer watching.Stop()
	if err := unstructured.SetNestedField(created.Object, "2", field...); err != nil {
		t.Fatal(err)
	}
	updated := must(client.Update(ctx, created, metav1.UpdateOptions{}))(t)
	must(client.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"1"}}}`),
		metav1.PatchOptions{}))(t)
	patched := must(client.Patch(ctx, "a", types.JSONPatchType,
		[]byte(`[{"op":"add","path":"/metadata/labels/m","value":"2"}]`), metav1.PatchOptions{}))(t)
	if got, _, _ := unstructured.NestedString(patched.Object, field...); got != "2" ||
		patched.GetLabels()["l"] != "1" || patched.GetLabels()["m"] != "2" {
		t.Errorf("after an update and two patches: %v", patched.Object)
	}
	if list := must(client.List(ctx, metav1.ListOptions{LabelSelector: "l=1"}))(t); len(list.Items) != 1 ||
		list.Items[0].GetUID() != updated.GetUID() {
		t.Errorf("list by label: %v", list.Items)
	}
	if err := client.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, watching, "MODIFIED a", "MODIFIED a", "MODIFIED a", "DELETED a")
}

// The metadata client reads and writes metadata of a typed and of a custom kind.
func TestMetadataClient(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("a", `{"size":3}`))
	w.createConfigMaps(t, "default", "a")
	client := must(metadata.NewForConfig(w.config))(t)
	for _, gvr := range []struct{ group, version, resource string }{{"", "v1", "configmaps"},
		{"example.com", "v1", "widgets"}} {
		resource := widgetsResource
		resource.Group, resource.Version, resource.Resource = gvr.group, gvr.version, gvr.resource
		objects := client.Resource(resource).Namespace("default")
		list := must(objects.List(t.Context(), metav1.ListOptions{}))(t)
		if len(list.Items) != 1 || list.Items[0].Name != "a" {
			t.Fatalf("%s: %+v", gvr.resource, list)
		}
		watching := must(objects.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion}))(t)
		patched := must(objects.Patch(t.Context(), "a", types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"l":"1"}}}`), metav1.PatchOptions{}))(t)
		if patched.Labels["l"] != "1" {
			t.Errorf("%s: patched %+v", gvr.resource, patched)
		}
		if got := must(objects.Get(t.Context(), "a", metav1.GetOptions{}))(t); got.UID != list.Items[0].UID {
			t.Errorf("%s: got %+v", gvr.resource, got)
		}
		if err := objects.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Errorf("%s: %v", gvr.resource, err)
		}
		wantEvents(t, watching, "MODIFIED a", "DELETED a")
		watching.Stop()
	}
}
