package clientgo_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/adapters/clientgo"
)

func TestHandlersAreNotifiedInOrder(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
		w.set("default/there=1")
		i, heard := w.make(clientgo.Options{Namespace: "default"}), &events{}
		must(i.AddEventHandler(heard))(w.t)
		defer w.run(i)()
		out := heard.drain()
		w.set("default/there=2")
		w.set("default/new=1")
		w.remove("default/there")
		w.set("default/there=3")
		return append(out, heard.drain()...)
	})
}

func TestLateHandlerReceivesExistingObjects(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
		w.set("default/there=1")
		i, heard := w.make(clientgo.Options{Namespace: "default"}), &events{}
		defer w.run(i)()
		handle := must(i.AddEventHandler(heard))(w.t)
		out := heard.drain()
		w.set("default/there=2")
		return append(append(out, heard.drain()...), fmt.Sprint(handle.HasSynced()))
	})
}

func TestRemovedHandlerIsNotNotified(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
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
		out = append(out, onlyDefault(heard.drain())...)
		return append(out, onlyDefault(stays.drain())...)
	})
}

func TestShutDownEventHandlerWaitsForCurrentCall(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
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

func TestHasSyncedAfterInitialNotifications(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
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

func TestMissedDeletionIsTombstone(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
		w.set("default/stays=1")
		w.set("default/goes=1")
		i, heard := w.make(clientgo.Options{Namespace: "default"}), &events{}
		must(i.AddEventHandler(heard))(w.t)
		defer w.run(i)()
		heard.drain()
		w.faults.cut(apierrors.NewResourceExpired("too old"))
		time.Sleep(time.Minute)
		w.remove("default/goes")
		w.set("default/stays=2")
		w.faults.mend()
		time.Sleep(10 * time.Minute) // longer than any back-off
		out := heard.drain()
		slices.Sort(out) // their order is not specified
		return out
	})
}

func TestHandlersResyncAtTheirPeriod(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
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
			out = append(out, heard.drain()...)
			out = append(out, "-")
		}
		return out
	})
}

func TestHandlersCanBeChangedDuringNotification(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
		i, heard := w.make(clientgo.Options{Namespace: "default",
			Labels: labels.SelectorFromSet(labels.Set{"color": "red"})}), &events{}
		var out []string
		var handle cache.ResourceEventHandlerRegistration
		handle = must(i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			must(i.AddEventHandler(heard))(w.t)
			out = append(out, described(obj), fmt.Sprint(i.RemoveEventHandler(handle)))
		}}))(w.t)
		defer w.run(i)()
		w.set("default/a=1", "color=red")
		w.set("default/b=1", "color=red")
		return append(heard.drain(), out...)
	})
}

func TestSlowHandlerIsNotifiedOfDeletedObjects(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
		w.set("default/there=1")
		i, heard, release := w.make(clientgo.Options{Namespace: "default"}), &events{}, make(chan struct{})
		must(i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) {
				<-release
				heard.OnAdd(obj, false)
			},
			DeleteFunc: heard.OnDelete,
		}))(w.t)
		defer w.run(i)()
		for _, what := range []string{"default/new=1", "default/new=2", "default/other=1"} {
			w.set(what)
			key, _, _ := strings.Cut(what, "=")
			w.remove(key)
		}
		close(release)
		out := heard.drain()
		slices.Sort(out) // our informer groups the notifications of a key
		return out
	})
}

// TestManyDeletedObjectsAreReportedByUID does not test client-go, which retains all deleted objects.
func TestManyDeletedObjectsAreReportedByUID(t *testing.T) {
	t.Parallel()
	on(t, "ours, in process", func(w *testPlane) []string {
		i, release, ends := w.make(clientgo.Options{Namespace: "default"}), make(chan struct{}), map[types.UID]bool{}
		added, tombstones := 0, 0
		must(i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { <-release; added++ },
			DeleteFunc: func(obj any) {
				if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
					tombstones++
					obj = tombstone.Obj
				}
				ends[obj.(metav1.Object).GetUID()] = true
			},
		}))(w.t)
		defer w.run(i)()
		w.set("default/first=1")
		synctest.Wait()
		const many = 1100
		var uids []types.UID
		for n := range many {
			key := fmt.Sprint("default/passing-", n)
			uids = append(uids, w.set(key+"=1").UID)
			w.remove(key)
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		for _, uid := range uids {
			if !ends[uid] {
				t.Fatalf("got %d deletions, but not that of %s", len(ends), uid)
			}
		}
		if added+tombstones != many+1 || tombstones == 0 {
			t.Errorf("%d were added, and of %d a tombstone came", added, tombstones)
		}
		return nil
	})
}

func TestDeletedObjectHasRevisionOfDeletion(t *testing.T) {
	t.Parallel()
	compare(t, func(w *testPlane) []string {
		i := w.make(clientgo.Options{Namespace: "default"})
		var deleted string
		must(i.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
			deleted = obj.(metav1.Object).GetResourceVersion()
		}}))(w.t)
		defer w.run(i)()
		before := w.set("default/a=1").ResourceVersion
		w.remove("default/a")
		after := w.set("default/b=1").ResourceVersion
		revision := func(s string) int { return must(strconv.Atoi(s))(w.t) }
		return []string{fmt.Sprint(revision(before) < revision(deleted), revision(deleted) < revision(after))}
	})
}

// TestHandlerPanicCallsPanicHandlers does not test client-go, where a panic ends the program.
func TestHandlerPanicCallsPanicHandlers(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"ours, over the wire", "ours, in process"} {
		on(t, side, func(w *testPlane) []string {
			var logged []string
			logger := funcr.New(func(_, message string) { logged = append(logged, message) }, funcr.Options{})
			i, heard := w.make(clientgo.Options{Namespace: "default", Log: slog.New(slog.DiscardHandler)}), &events{}
			defer w.run(i)()
			fails := cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
				heard.OnAdd(obj, false)
				if obj.(metav1.Object).GetName() == "a" {
					panic("wrong")
				}
			}}
			handle := must(i.AddEventHandlerWithOptions(fails, cache.HandlerOptions{Logger: &logger}))(w.t)
			w.set("default/a=1")
			w.set("default/b=1")
			notified := heard.drain()
			if len(logged) != 1 || !strings.Contains(logged[0], "wrong") ||
				!slices.Contains(notified, "add default/b=1 initial=false") {
				t.Errorf("%s: got log %q and notifications %q", side, logged, notified)
			}
			if name := handle.HasSyncedChecker().Name(); !strings.Contains(name, "TestHandlerPanicCallsPanicHandlers") {
				t.Errorf("a handler is called %s", name)
			}
			return nil
		})
	}
}

// onlyDefault leaves out what happens in other namespaces.
func onlyDefault(lines []string) []string {
	return slices.DeleteFunc(lines, func(s string) bool { return !strings.Contains(s, " default/") })
}
