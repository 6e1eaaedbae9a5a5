package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/adapters/clientgo"
)

func TestTransformAppliesToCacheAndHandlers(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
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
		stored := must(w.clients.CoreV1().ConfigMaps("default").Get(w.t.Context(), "a", metav1.GetOptions{}))(w.t)
		return append(append(heard.drain(), values(i.GetStore().List())...), fmt.Sprint(err, late != nil, stored.Data))
	})
}

func TestErrorsOfListsAreReported(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
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

func TestStoppedInformerRejectsChanges(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
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
		return append(out, heard.drain()...)
	})
}

func TestSelectorsNarrowAnInformer(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
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

func TestLastSyncResourceVersionFollowsEvents(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
		i := w.make(clientgo.Options{Namespace: "default"})
		out := []string{fmt.Sprint(i.LastSyncResourceVersion() == "")}
		defer w.run(i)()
		made := w.set("default/a=1")
		return append(out, fmt.Sprint(i.LastSyncResourceVersion() == made.ResourceVersion))
	})
}

func TestErrorsMatchClientGo(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
		i, other := w.make(clientgo.Options{}), w.make(clientgo.Options{})
		foreign := must(other.AddEventHandler(&events{}))(w.t)
		stop := w.run(i)
		started := i.SetTransform(nil)
		stop()
		_, handler := i.AddEventHandler(&events{})
		out := []string{fmt.Sprint(i.RemoveEventHandler(foreign), i.RemoveEventHandler(nil) != nil)}
		for err, words := range map[error]string{
			started:                     "informer has already started",
			i.SetWatchErrorHandler(nil): "informer has already started",
			handler:                     " was not added to shared informer because it has stopped already",
			i.AddIndexers(byValue()):    "indexer was not added because it has stopped already",
		} {
			if !strings.HasSuffix(err.Error(), words) {
				out = append(out, err.Error())
			}
		}
		return out
	})
}

func TestInformerStopsDespiteBlockedHandler(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
		w.set("default/a=1")
		i, release, ended := w.make(clientgo.Options{Namespace: "default"}), make(chan struct{}), make(chan struct{})
		must(i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-release }}))(w.t)
		stop := w.run(i)
		go func() {
			stop()
			close(ended)
		}()
		synctest.Wait()
		_, err := i.AddEventHandler(&events{})
		out := fmt.Sprint(i.IsStopped(), err != nil)
		close(release)
		<-ended
		return []string{out}
	})
}

// TestTypedObjectsMatchTypedClients is not asked of informers in process, which share the server's own
// objects.
func TestTypedObjectsMatchTypedClients(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"client-go", "ours, over the wire", "ours, lazy"} {
		on(t, side, func(w *testPlane) []string {
			w.set("default/a=1", "color=red")
			i := w.make(clientgo.Options{Namespace: "default"})
			defer w.run(i)()
			read := must(w.clients.CoreV1().ConfigMaps("default").Get(w.t.Context(), "a", metav1.GetOptions{}))(w.t)
			cached, _, _ := i.GetStore().GetByKey("default/a")
			if difference := cmp.Diff(any(read), cached); difference != "" {
				t.Errorf("%s: a client reads -, the cache has +\n%s", side, difference)
			}
			return nil
		})
	}
}
