package clientgo_test

import (
	"context"
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

func TestHandlersAreToldWhatHappensInOrder(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.set("default/there=1")
		i, heard := w.make(clientgo.Options{Namespace: "default"}), &events{}
		must(i.AddEventHandler(heard))(w.t)
		defer w.run(i)()
		out := heard.take()
		w.set("default/there=2")
		w.set("default/new=1")
		w.remove("default/there")
		w.set("default/there=3")
		return append(out, heard.take()...)
	})
}

func TestAHandlerThatComesLateIsToldOfWhatIsThere(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.set("default/there=1")
		i, heard := w.make(clientgo.Options{Namespace: "default"}), &events{}
		defer w.run(i)()
		handle := must(i.AddEventHandler(heard))(w.t)
		out := heard.take()
		w.set("default/there=2")
		return append(append(out, heard.take()...), fmt.Sprint(handle.HasSynced()))
	})
}

func TestAHandlerThatWasRemovedIsToldNothing(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		i, other, heard, stays := w.make(clientgo.Options{}), w.make(clientgo.Options{}), &events{}, &events{}
		defer w.run(i)()
		handle := must(i.AddEventHandler(heard))(w.t)
		must(i.AddEventHandler(stays))(w.t)
		foreign := must(other.AddEventHandler(&events{}))(w.t)
		w.set("default/a=1")
		out := []string{fmt.Sprint(i.RemoveEventHandler(handle), i.RemoveEventHandler(handle))}
		w.set("default/a=2")
		_ = i.RemoveEventHandler(foreign)
		w.set("default/a=3")
		out = append(out, onlyDefault(heard.take())...)
		return append(out, onlyDefault(stays.take())...)
	})
}

func TestShutDownEventHandlerWaitsForTheCallUnderWay(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		i := w.make(clientgo.Options{Namespace: "default"})
		defer w.run(i)()
		var out []string
		release := make(chan struct{})
		handle := must(i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			<-release
			out = append(out, "handled")
		}}))(w.t)
		w.set("default/a=1")
		go func() {
			time.Sleep(time.Minute)
			close(release)
		}()
		err := cache.ShutDownEventHandler(i, handle)
		return append(out, fmt.Sprint(err))
	})
}

func TestSyncedIsSaidWhenTheCacheAndTheHandlerHaveAll(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.set("default/a=1")
		i := w.make(clientgo.Options{Namespace: "default"})
		release := make(chan struct{})
		handle := must(i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-release }}))(w.t)
		state := func() string {
			synctest.Wait()
			return fmt.Sprint(i.HasSynced(), cache.IsDone(i.HasSyncedChecker()), i.GetController().HasSynced(),
				handle.HasSynced(), cache.IsDone(handle.HasSyncedChecker()))
		}
		out := []string{state()}
		defer w.run(i)()
		out = append(out, state())
		close(release)
		return append(out, state())
	})
}

func TestTheStoreIsReadAsClientGosIs(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
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
		for _, obj := range []any{one, cache.DeletedFinalStateUnknown{Key: "other/a"}, cache.ExplicitKey("default/a"), "no object"} {
			obj, found, err := store.Get(obj)
			var unkeyed cache.KeyError
			out = append(out, fmt.Sprint(found, errors.As(err, &unkeyed), obj == nil))
		}
		return append(out, fmt.Sprint(store.Resync()))
	})
}

func TestIndexesFindWhatClientGosFind(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.namespace("other")
		example := w.set("default/a=red blue")
		w.set("default/b=blue")
		w.set("other/c=blue")
		i := w.make(clientgo.Options{Fields: fields.OneTermNotEqualSelector("metadata.name", "kube-root-ca.crt"), Indexers: byValue()})
		indexer := i.GetIndexer()
		out := []string{fmt.Sprint(i.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}))}
		defer w.run(i)()
		name := cache.Indexers{"name": func(obj any) ([]string, error) { return []string{obj.(metav1.Object).GetName()}, nil }}
		out = append(out, fmt.Sprint(i.AddIndexers(name), i.AddIndexers(name) != nil, indexer.AddIndexers(byValue()) != nil))
		all := func() {
			for _, q := range []string{"value=blue", "value=red", "value=green", "name=b", "namespace=default", "namespace=none", "missing=x"} {
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

func TestADeletionThatWasMissedComesAsATombstone(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.set("default/stays=1")
		w.set("default/goes=1")
		i, heard := w.make(clientgo.Options{Namespace: "default"}), &events{}
		must(i.AddEventHandler(heard))(w.t)
		defer w.run(i)()
		heard.take()
		w.faults.cut(apierrors.NewResourceExpired("too old"))
		time.Sleep(time.Minute)
		w.remove("default/goes")
		w.set("default/stays=2")
		w.faults.mend()
		time.Sleep(10 * time.Minute) // longer than anybody backs off
		out := heard.take()
		slices.Sort(out) // which of the two is first is nobody's promise
		return out
	})
}

func TestEachHandlerResyncsAsOftenAsItAskedFor(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.set("default/a=1")
		i := w.make(clientgo.Options{Namespace: "default", Resync: 10 * time.Second})
		defaults, never, slow := &events{}, &events{}, &events{}
		must(i.AddEventHandler(defaults))(w.t)
		must(i.AddEventHandlerWithResyncPeriod(never, 0))(w.t)
		thirty := 30 * time.Second
		must(i.AddEventHandlerWithOptions(slow, cache.HandlerOptions{ResyncPeriod: &thirty}))(w.t)
		defer w.run(i)()
		time.Sleep(65 * time.Second)
		out := []string{}
		for _, heard := range []*events{defaults, never, slow} {
			out = append(out, heard.take()...)
			out = append(out, "-")
		}
		return out
	})
}

func TestATransformChangesWhatIsStoredAndTold(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.set("default/a=1")
		i, heard := w.make(clientgo.Options{Namespace: "default"}), &events{}
		must(i.AddEventHandler(heard))(w.t)
		err := i.SetTransform(func(obj any) (any, error) {
			obj.(*corev1.ConfigMap).Data = map[string]string{"value": "transformed"}
			return obj, nil
		})
		defer w.run(i)()
		w.set("default/b=1")
		late := i.SetTransform(nil)
		there := must(w.clients.CoreV1().ConfigMaps("default").Get(w.t.Context(), "a", metav1.GetOptions{}))(w.t)
		return append(append(heard.take(), values(i.GetStore().List())...), fmt.Sprint(err, late != nil, there.Data))
	})
}

func TestErrorsOfListsAreReported(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		i := w.make(clientgo.Options{Namespace: "default"})
		reported := make(chan error, 1)
		err := i.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) {
			cache.DefaultWatchErrorHandler(w.t.Context(), r, err)
			select {
			case reported <- err:
			default:
			}
		})
		w.faults.cut(apierrors.NewForbidden(configMaps.GroupResource(), "", errors.New("not for you")))
		defer w.run(i)()
		forbidden := apierrors.IsForbidden(<-reported)
		late := i.SetWatchErrorHandler(func(*cache.Reflector, error) {})
		synced := i.HasSynced()
		w.faults.mend()
		time.Sleep(10 * time.Minute)
		return []string{fmt.Sprint(err, forbidden, late != nil, synced, i.HasSynced())}
	})
}

func TestAnInformerThatHasStoppedTakesNothingMore(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		i, heard := w.make(clientgo.Options{Namespace: "default"}), &events{}
		must(i.AddEventHandler(heard))(w.t)
		out := []string{fmt.Sprint(i.IsStopped())}
		stop := w.run(i)
		out = append(out, fmt.Sprint(i.IsStopped()))
		stop()
		w.set("default/a=1")
		_, err := i.AddEventHandler(heard)
		out = append(out, fmt.Sprint(i.IsStopped(), err != nil, i.AddIndexers(byValue()) != nil))
		i.RunWithContext(w.t.Context()) // returns at once
		return append(out, heard.take()...)
	})
}

func TestSelectorsNarrowAnInformer(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.namespace("other")
		w.set("default/a=1", "color=red")
		w.set("other/a=2", "color=red")
		w.set("other/b=3", "color=blue")
		var out []string
		for _, o := range []clientgo.Options{
			{Namespace: "other", Labels: labels.SelectorFromSet(labels.Set{"color": "red"})},
			{Labels: labels.SelectorFromSet(labels.Set{"color": "red"})},
			{Fields: fields.OneTermEqualSelector("metadata.name", "b")},
		} {
			i := w.make(o)
			stop := w.run(i)
			out = append(out, fmt.Sprint(values(i.GetStore().List())))
			stop()
		}
		return out
	})
}

func TestTheLastRevisionIsThatOfTheLatestEvent(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		i := w.make(clientgo.Options{Namespace: "default"})
		out := []string{fmt.Sprint(i.LastSyncResourceVersion() == "")}
		defer w.run(i)()
		made := w.set("default/a=1")
		return append(out, fmt.Sprint(i.LastSyncResourceVersion() == made.ResourceVersion))
	})
}

func TestTypedListersReadOurCaches(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		w.namespace("other")
		w.set("default/a=1", "color=red")
		w.set("other/b=2", "color=red")
		w.set("other/c=3")
		i := w.make(clientgo.Options{Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}})
		defer w.run(i)()
		lister := listers.NewConfigMapLister(i.GetIndexer())
		red := labels.SelectorFromSet(labels.Set{"color": "red"})
		found, err := lister.List(red)
		there, thereErr := lister.ConfigMaps("other").List(red)
		_, missing := lister.ConfigMaps("other").Get("a")
		generic := cache.NewGenericLister(i.GetIndexer(), configMaps.GroupResource())
		all, genericErr := generic.ByNamespace("other").List(labels.Everything())
		typed := cache.NewTypedSharedIndexInformer[*corev1.ConfigMap](i)
		byNamespace, typedErr := typed.GetTypedIndexer().ByTypedIndex(cache.NamespaceIndex, "default")
		return []string{
			fmt.Sprint(len(found), err, len(there), thereErr, missing, len(all), genericErr, typedErr),
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

// onlyDefault leaves out what happens in other namespaces.
func onlyDefault(told []string) []string {
	return slices.DeleteFunc(told, func(s string) bool { return !strings.Contains(s, " default/") })
}
