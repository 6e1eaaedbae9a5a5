package controllerruntime_test

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
)

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

func TestGetAndListMatchControllerRuntime(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.set("default/a=1 color=red", "default/b=2 color=blue", "other/c=3 color=red")
		c := w.make(cache.Options{})
		defer w.run(c)()
		red := client.MatchingLabels{"color": "red"}
		var limited corev1.ConfigMapList
		if err := c.List(w.t.Context(), &limited, client.Limit(2)); err != nil {
			w.t.Error(err)
		}
		return []string{
			w.get(c, "default/a"), w.get(c, "other/c"), w.get(c, "default/none"), w.get(c, "none/a"),
			w.list(c), w.list(c, client.InNamespace("default")), w.list(c, red),
			w.list(c, red, client.InNamespace("other")),
			w.list(c, client.HasLabels{"color"}), w.list(c, client.InNamespace("none")),
			w.list(c,
				client.MatchingFields{"metadata.name": "a"})[:len("error: Index with name field:metadata.name does "+
				"not exist")],
			w.list(c, client.Continue("x")),
			fmt.Sprint(len(limited.Items), limited.Continue),
		}
	})
}

func TestIndexedFieldSelectors(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.set("default/a=1", "default/b=2", "other/c=1")
		c := w.make(cache.Options{})
		value := func(obj client.Object) []string { return []string{obj.(*corev1.ConfigMap).Data["value"]} }
		name := func(obj client.Object) []string { return []string{obj.GetName()} }
		again := func(obj client.Object) error { return c.IndexField(w.t.Context(), obj, "value", value) }
		out := []string{fmt.Sprint(again(&corev1.ConfigMap{}), again(&corev1.ConfigMap{}) != nil)}
		if err := c.IndexField(w.t.Context(), &corev1.Node{}, "name", name); err != nil {
			w.t.Error(err)
		}
		defer w.run(c)()
		if err := c.IndexField(w.t.Context(), &corev1.ConfigMap{}, "name", name); err != nil { // while it runs
			w.t.Error(err)
		}
		if err := w.client.Create(w.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}); err != nil {
			w.t.Error(err)
		}
		w.set("default/b=1")
		var nodes corev1.NodeList
		err := c.List(w.t.Context(), &nodes, client.MatchingFields{"name": "n"})
		not := client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("value", "1")}
		return append(out,
			w.list(c, client.MatchingFields{"value": "1"}), w.list(c, client.MatchingFields{"value": "2"}),
			w.list(c, client.MatchingFields{"value": "1"}, client.InNamespace("other")),
			w.list(c, client.MatchingFields{"value": "1", "name": "b"}),
			w.list(c, not), fmt.Sprint(len(nodes.Items), err))
	})
}

func TestReadsReturnCopiesUnlessDisabled(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.set("default/a=1")
		var out []string
		for _, off := range []bool{false, true} {
			c := w.make(cache.Options{DefaultUnsafeDisableDeepCopy: &off})
			stop := w.run(c)
			read := func() *corev1.ConfigMap {
				var found corev1.ConfigMap
				if err := c.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, &found); err != nil {
					w.t.Error(err)
				}
				return &found
			}
			// Whether both share a map shows whether they are copies, without changing what others may share.
			one, other := read(), read()
			out = append(out, fmt.Sprint(sameMap(one.Data, other.Data), off || one.Kind == "ConfigMap"))
			var list corev1.ConfigMapList
			if err := c.List(w.t.Context(), &list, client.MatchingLabels{}, client.UnsafeDisableDeepCopy); err != nil {
				w.t.Error(err)
			}
			i := slices.IndexFunc(list.Items, func(c corev1.ConfigMap) bool { return c.Name == "a" })
			out = append(out, fmt.Sprint(sameMap(list.Items[i].Data, read().Data)))
			stop()
		}
		return out
	})
}

// sameMap reports whether two variables hold the same map.
func sameMap(a, b map[string]string) bool { return fmt.Sprintf("%p", a) == fmt.Sprintf("%p", b) }

// TestUnstructuredAndMetadataAreCached is not in a bubble: controller-runtime's own cache of metadata leaves a
// goroutine behind when it stops.
func TestUnstructuredAndMetadataAreCached(t *testing.T) {
	t.Parallel()
	compareBy(t, eachInRealTime, func(w *world) []string {
		w.set("default/a=1 color=red")
		c := w.make(cache.Options{})
		defer w.run(c)()
		key := client.ObjectKey{Namespace: "default", Name: "a"}
		dynamic := &unstructured.Unstructured{}
		dynamic.SetGroupVersionKind(configMapKind)
		metadata := &metav1.PartialObjectMetadata{}
		metadata.SetGroupVersionKind(configMapKind)
		out := []string{fmt.Sprint(c.Get(w.t.Context(), key, dynamic), c.Get(w.t.Context(), key, metadata))}
		value, _, _ := unstructured.NestedString(dynamic.Object, "data", "value")
		out = append(out, value, dynamic.GroupVersionKind().String(), metadata.Labels["color"],
			metadata.GroupVersionKind().String())

		dynamics := &unstructured.UnstructuredList{}
		dynamics.SetGroupVersionKind(configMapKind)
		metadatas := &metav1.PartialObjectMetadataList{}
		metadatas.SetGroupVersionKind(configMapKind)
		red := client.MatchingLabels{"color": "red"}
		out = append(out, fmt.Sprint(c.List(w.t.Context(), dynamics, red), c.List(w.t.Context(), metadatas, red)))
		out = append(out, fmt.Sprint(len(dynamics.Items), len(metadatas.Items), metadatas.Items[0].Kind))

		told := make(chan string, 1) // handlers of metadata see whose it is
		i := must(c.GetInformer(w.t.Context(), metadata))(w.t)
		must(i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			if m := obj.(*metav1.PartialObjectMetadata); m.Name == "a" {
				told <- m.GroupVersionKind().String()
			}
		}}))(w.t)
		return append(out, <-told)
	})
}

func TestGetAndRemoveInformer(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.set("default/a=1")
		c, heard, byKind := w.make(cache.Options{}), &events{}, &events{}
		i := must(c.GetInformer(w.t.Context(), &corev1.ConfigMap{}))(w.t)
		must(i.AddEventHandler(heard.handler()))(w.t)
		stop := w.run(c)
		same := must(c.GetInformerForKind(w.t.Context(), configMapKind))(w.t)
		handle := must(same.AddEventHandler(byKind.handler()))(w.t)
		out := append(heard.take(), byKind.take()...)
		w.set("default/a=2")
		out = append(append(out, heard.take()...), byKind.take()...)
		out = append(out, fmt.Sprint(same.RemoveEventHandler(handle), handle.HasSynced(), i.HasSynced(), i.IsStopped()))
		w.set("default/a=3")
		out = append(append(out, heard.take()...), byKind.take()...)
		out = append(out, fmt.Sprint(c.RemoveInformer(w.t.Context(), &corev1.ConfigMap{})))
		synctest.Wait()
		out = append(out, fmt.Sprint(i.IsStopped()))
		w.set("default/a=4")
		out = append(out, heard.take()...)
		out = append(out, w.get(c, "default/a")) // by a new one
		stop()
		return out
	})
}

func TestCacheReportsMissingInformers(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		var notStarted *cache.ErrCacheNotStarted
		var notCached *cache.ErrResourceNotCached
		var found corev1.ConfigMap
		key := client.ObjectKey{Namespace: "default", Name: "a"}
		c := w.make(cache.Options{ReaderFailOnMissingInformer: true})
		before := c.Get(w.t.Context(), key, &found)
		must(c.GetInformer(w.t.Context(), &corev1.Secret{}))(w.t)
		early := c.Get(w.t.Context(), key, &corev1.Secret{})
		defer w.run(c)()
		after := c.Get(w.t.Context(), key, &corev1.Secret{})
		return []string{fmt.Sprint(errors.As(before, &notCached), errors.As(early, &notStarted),
			apierrors.IsNotFound(after)), fmt.Sprint(before)}
	})
}

func TestNamespacesAndSelectorsNarrowACache(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.set("default/a=1 color=red", "one/b=2 color=red", "one/b2=2 color=blue", "two/c=3 color=blue",
			"three/d=4 color=red")
		red := labels.SelectorFromSet(labels.Set{"color": "red"})
		var out []string
		for _, o := range []cache.Options{
			{DefaultNamespaces: map[string]cache.Config{"one": {}, "two": {}}},
			{DefaultLabelSelector: red},
			{DefaultFieldSelector: fields.OneTermEqualSelector("metadata.name", "c")},
			{DefaultNamespaces: map[string]cache.Config{"one": {LabelSelector: red}, cache.AllNamespaces: {}}},
			{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Label: red}}},
			{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Field: fields.OneTermEqualSelector("metadata.namespace", "three")}}},
			{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{"one": {LabelSelector: red}}}}},
			{DefaultTransform: func(obj any) (any, error) {
				if configMap, ok := obj.(*corev1.ConfigMap); ok {
					configMap.Data = map[string]string{"value": "transformed"}
				}
				return obj, nil
			}},
		} {
			c, heard := w.make(o), &events{}
			i := must(c.GetInformer(w.t.Context(), &corev1.ConfigMap{}))(w.t)
			must(i.AddEventHandler(heard.handler()))(w.t)
			stop := w.run(c)
			told := heard.take()
			sort.Strings(told)
			out = append(out, w.list(c), w.list(c, client.InNamespace("one")), w.get(c, "two/c"),
				strings.Join(told, ", "))
			stop()
		}
		return out
	})
}

func TestClusterScopedObjectsAreCachedBesideNamespaces(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		c := w.make(cache.Options{DefaultNamespaces: map[string]cache.Config{"default": {}}})
		defer w.run(c)()
		var namespaces corev1.NamespaceList
		err := c.List(w.t.Context(), &namespaces)
		var namespace corev1.Namespace
		return []string{fmt.Sprint(len(namespaces.Items), err,
			c.Get(w.t.Context(), client.ObjectKey{Name: "default"}, &namespace))}
	})
}

func TestSyncPeriodResyncsHandlers(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.set("default/a=1")
		period := time.Minute
		c, heard := w.make(cache.Options{SyncPeriod: &period}), &events{}
		i := must(c.GetInformer(w.t.Context(), &corev1.ConfigMap{}))(w.t)
		must(i.AddEventHandler(heard.handler()))(w.t)
		defer w.run(c)()
		time.Sleep(90 * time.Second)
		return heard.take()
	})
}

func TestUnservedKindIsAnError(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		c := w.make(cache.Options{})
		defer w.run(c)()
		obj := &unstructured.Unstructured{}
		obj.SetAPIVersion("example.com/v1")
		obj.SetKind("Nothing")
		_, err := c.GetInformer(w.t.Context(), obj)
		return []string{fmt.Sprint(err), fmt.Sprint(c.Get(w.t.Context(), client.ObjectKey{}, &noObject{}))}
	})
}

// noObject is of a type that no scheme knows.
type noObject struct{ corev1.ConfigMap }

func (o *noObject) DeepCopyObject() runtime.Object { return o }

func TestCustomInformersAreUsed(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		fake := controllertest.NewFakeInformer()
		c := w.make(cache.Options{
			NewInformer: func(toolscache.ListerWatcher, runtime.Object, time.Duration,
				toolscache.Indexers) toolscache.SharedIndexInformer {
				return fake
			},
		})
		i, err := c.GetInformer(w.t.Context(), &corev1.ConfigMap{})
		return []string{fmt.Sprint(i == fake, err)}
	})
}
