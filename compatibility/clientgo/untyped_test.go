package clientgo

import (
	"encoding/json"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// widget returns a custom resource; spec is JSON.
func widget(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	w := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
	w.SetName(name)
	var content map[string]any
	if err := json.Unmarshal([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	w.Object["spec"] = content
	return w
}

func field(t *testing.T, u *unstructured.Unstructured, path ...string) any {
	t.Helper()
	v, _, err := unstructured.NestedFieldNoCopy(u.Object, path...)
	return plane.Must(v, err)(t)
}

func TestDynamicClientSupportsAllVerbs(t *testing.T) {
	t.Parallel()
	config, ctx := plane.Start(t), t.Context()
	plane.Define(t, config, plane.Widgets(t))
	client := plane.Must(dynamic.NewForConfig(config))(t).Resource(widgets).Namespace(ns)
	w := plane.Must(client.Watch(ctx, metav1.ListOptions{FieldSelector: "spec.color=red"}))(t)
	defer w.Stop()

	u := plane.Must(client.Create(ctx, widget(t, "a", `{"size":2}`), metav1.CreateOptions{}))(t)
	if color := field(t, u, "spec", "color"); color != "blue" {
		t.Errorf("got default color %v, want blue", color)
	}
	u.Object["spec"].(map[string]any)["color"] = "red"
	u = plane.Must(client.Update(ctx, u, metav1.UpdateOptions{}))(t)
	expectEvent(t, w, watch.Added, u) // the selector matches it now

	u.Object["status"] = map[string]any{"size": int64(2)}
	u = plane.Must(client.UpdateStatus(ctx, u, metav1.UpdateOptions{}))(t)
	expectEvent(t, w, watch.Modified, u)
	u = plane.Must(client.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"size":3}}`),
		metav1.PatchOptions{}))(t)
	expectEvent(t, w, watch.Modified, u)
	if size := field(t, u, "status", "size"); size != int64(2) {
		t.Errorf("got status.size %v, want 2", size)
	}
	scale := plane.Must(client.Get(ctx, "a", metav1.GetOptions{}, "scale"))(t)
	if n := field(t, scale, "spec", "replicas"); n != int64(3) || scale.GetKind() != "Scale" {
		t.Errorf("got scale %v, want 3 replicas", scale)
	}
	_, err := client.Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	if !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("strategic merge patch of a custom resource: got error %v, want UnsupportedMediaType", err)
	}
	if err := client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if e := <-w.ResultChan(); e.Type != watch.Deleted {
		t.Errorf("after deletecollection: got event %s, want DELETED", e.Type)
	}
}

func TestMetadataClientReadsMetadataOnly(t *testing.T) {
	t.Parallel()
	config, ctx := plane.Start(t), t.Context()
	plane.Define(t, config, plane.Widgets(t))
	objects := plane.Must(dynamic.NewForConfig(config))(t)
	metadatas := plane.Must(metadata.NewForConfig(config))(t)
	configMap := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"data": map[string]any{"k": "v"}}}
	configMap.SetName("a")
	for r, o := range map[schema.GroupVersionResource]*unstructured.Unstructured{
		{Version: "v1", Resource: "configmaps"}: configMap, widgets: widget(t, "a", `{}`),
	} {
		client := metadatas.Resource(r).Namespace(ns)
		w := plane.Must(client.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=a"}))(t)
		defer w.Stop()
		created := plane.Must(objects.Resource(r).Namespace(ns).Create(ctx, o, metav1.CreateOptions{}))(t)
		expectEvent(t, w, watch.Added, created)

		patched := plane.Must(client.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"1"}}}`),
			metav1.PatchOptions{}))(t)
		got := plane.Must(client.Get(ctx, "a", metav1.GetOptions{}))(t)
		if got.UID != created.GetUID() || got.ResourceVersion != patched.ResourceVersion || got.Labels["l"] != "1" {
			t.Errorf("get after patch: got %v, want %v", got, patched)
		}
		list := plane.Must(client.List(ctx, metav1.ListOptions{LabelSelector: "l=1"}))(t)
		if len(list.Items) != 1 || list.Items[0].Name != "a" || list.Items[0].APIVersion != "meta.k8s.io/v1" &&
			list.Items[0].APIVersion != "" {
			t.Errorf("got list %v, want the metadata of a", list)
		}
		if err := client.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// TestCustomResourceScopes checks that custom resources are listed and watched across
// namespaces, and not found at the paths of the other scope.
func TestCustomResourceScopes(t *testing.T) {
	t.Parallel()
	config, ctx := plane.Start(t), t.Context()
	plane.Define(t, config, plane.Widgets(t))
	everywhere := plane.Must(dynamic.NewForConfig(config))(t).Resource(widgets)
	if _, err := everywhere.List(ctx, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	_, created := everywhere.Create(ctx, widget(t, "a", `{}`), metav1.CreateOptions{})
	_, got := everywhere.Get(ctx, "a", metav1.GetOptions{})
	deleted := everywhere.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	for verb, err := range map[string]error{"create": created, "get": got, "deletecollection": deleted} {
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s without a namespace: got error %v, want NotFound", verb, err)
		}
	}
}
