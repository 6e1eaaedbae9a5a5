package clientgo_test

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/adapters/clientgo"
)

// byValue is an index of ConfigMaps.
func byValue() cache.Indexers {
	return cache.Indexers{"value": func(obj any) ([]string, error) {
		return strings.Fields(obj.(*corev1.ConfigMap).Data["value"]), nil
	}}
}

func TestStoreMatchesClientGo(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
		w.namespace("other")
		one := w.set("default/a=1")
		w.set("other/a=2")
		i := w.make(clientgo.Options{Fields: fields.OneTermNotEqualSelector("metadata.name", "kube-root-ca.crt")})
		defer w.run(i)()
		store := i.GetStore()
		keys := store.ListKeys()
		sort.Strings(keys)
		out := append(keys, values(store.List())...)
		for _, key := range []string{"default/a", "other/a", "default/b", "a", "", "x/y/z"} {
			obj, found, err := store.GetByKey(key)
			out = append(out, fmt.Sprint(key, found, err, obj == nil))
		}
		for _, obj := range []any{one, cache.DeletedFinalStateUnknown{Key: "other/a"}, cache.ExplicitKey("default/a"),
			"no object"} {
			obj, found, err := store.Get(obj)
			var unkeyed cache.KeyError
			out = append(out, fmt.Sprint(found, errors.As(err, &unkeyed), obj == nil))
		}
		return append(out, fmt.Sprint(store.Resync()))
	})
}

func TestIndexesMatchClientGo(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
		w.namespace("other")
		example := w.set("default/a=red blue")
		w.set("default/b=blue")
		w.set("other/c=blue")
		i := w.make(clientgo.Options{Fields: fields.OneTermNotEqualSelector("metadata.name", "kube-root-ca.crt"),
			Indexers: byValue()})
		indexer := i.GetIndexer()
		out := []string{fmt.Sprint(i.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}))}
		defer w.run(i)()
		name := cache.Indexers{"name": func(obj any) ([]string, error) {
			return []string{obj.(metav1.Object).GetName()}, nil
		}}
		out = append(out, fmt.Sprint(i.AddIndexers(name), i.AddIndexers(name) != nil,
			indexer.AddIndexers(byValue()) != nil))
		all := func() {
			for _, q := range []string{"value=blue", "value=red", "value=green", "name=b", "namespace=default",
				"namespace=none", "missing=x"} {
				index, value, _ := strings.Cut(q, "=")
				found, err := indexer.ByIndex(index, value)
				keys, keysErr := indexer.IndexKeys(index, value)
				known := indexer.ListIndexFuncValues(index)
				sort.Strings(known)
				out = append(out, fmt.Sprint(q, values(found), keys, known, err != nil, keysErr != nil))
			}
			found, err := indexer.Index("value", example)
			out = append(out, fmt.Sprint(values(found), err))
		}
		all()
		w.set("default/b=green")
		w.remove("other/c")
		all()
		out = append(out, fmt.Sprint(len(indexer.GetIndexers())))
		_, err := indexer.Index("missing", example)
		return append(out, fmt.Sprint(err != nil))
	})
}

func TestTypedListers(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
		w.namespace("other")
		w.set("default/a=1", "color=red")
		w.set("other/b=2", "color=red")
		w.set("other/c=3")
		i := w.make(clientgo.Options{Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}})
		defer w.run(i)()
		lister := listers.NewConfigMapLister(i.GetIndexer())
		red := labels.SelectorFromSet(labels.Set{"color": "red"})
		found, err := lister.List(red)
		inOther, inOtherErr := lister.ConfigMaps("other").List(red)
		_, missing := lister.ConfigMaps("other").Get("a")
		generic := cache.NewGenericLister(i.GetIndexer(), configMaps.GroupResource())
		all, genericErr := generic.ByNamespace("other").List(labels.Everything())
		typed := cache.NewTypedSharedIndexInformer[*corev1.ConfigMap](i)
		byNamespace, typedErr := typed.GetTypedIndexer().ByTypedIndex(cache.NamespaceIndex, "default")
		return []string{
			fmt.Sprint(len(found), err, len(inOther), inOtherErr, missing, len(all), genericErr, typedErr),
			fmt.Sprint(values(anys(byNamespace))),
		}
	})
}

// values describes objects, in order, without those that the plane makes in every namespace.
func values(objects []any) []string {
	var out []string
	for _, obj := range objects {
		if obj.(metav1.Object).GetName() != "kube-root-ca.crt" {
			out = append(out, described(obj))
		}
	}
	sort.Strings(out)
	return out
}

func anys[T any](objects []T) []any {
	out := make([]any, len(objects))
	for i, obj := range objects {
		out[i] = obj
	}
	return out
}
