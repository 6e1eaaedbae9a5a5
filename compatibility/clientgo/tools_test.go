package clientgo

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	toolswatch "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// watcher adapts a function to cache.WatcherWithContext.
type watcher func(context.Context, metav1.ListOptions) (watch.Interface, error)

func (w watcher) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return w(ctx, o)
}

// TestRetryWatcherResumesAfterDisconnect checks that no event is lost or repeated if each connection ends
// after one event.
func TestRetryWatcherResumesAfterDisconnect(t *testing.T) {
	t.Parallel()
	clients := plane.Must(kubernetes.NewForConfig(plane.Start(t)))(t)
	client := clients.CoreV1().ConfigMaps(ns)
	from := plane.Must(client.List(t.Context(), metav1.ListOptions{}))(t).ResourceVersion
	configMaps(t, clients, 2)
	short := watcher(func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		w, err := client.Watch(ctx, o)
		if err != nil {
			return nil, err
		}
		only := watch.NewFakeWithChanSize(1, false)
		go func() {
			defer only.Stop()
			defer w.Stop()
			if e, ok := <-w.ResultChan(); ok {
				only.Action(e.Type, e.Object)
			}
		}()
		return only, nil
	})
	w := plane.Must(toolswatch.NewRetryWatcherWithContext(t.Context(), from, short))(t)
	defer w.Stop()
	for _, name := range []string{"0", "1"} {
		if e := <-w.ResultChan(); e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != name {
			t.Errorf("got %s %v, want %s added", e.Type, e.Object, name)
		}
	}
}

func TestRetryWatcherReportsExpiredRevision(t *testing.T) {
	t.Parallel()
	client := plane.Must(kubernetes.NewForConfig(plane.Start(t)))(t).CoreV1().ConfigMaps(ns)
	w := plane.Must(toolswatch.NewRetryWatcherWithContext(t.Context(), "1", watcher(client.Watch)))(t)
	defer w.Stop()
	e := <-w.ResultChan()
	if err := apierrors.FromObject(e.Object); e.Type != watch.Error || !apierrors.IsResourceExpired(err) &&
		!apierrors.IsGone(err) {
		t.Errorf("got %s %v, want an expired revision", e.Type, e.Object)
	}
	<-w.Done()
}

// TestUntilWithSyncObservesCondition checks a condition that is true from the start and one that
// becomes true.
func TestUntilWithSyncObservesCondition(t *testing.T) {
	t.Parallel()
	clients, ctx := plane.Must(kubernetes.NewForConfig(plane.Start(t)))(t), t.Context()
	configMaps(t, clients, 1)
	list := cache.NewListWatchFromClient(clients.CoreV1().RESTClient(), "configmaps", ns,
		fields.OneTermEqualSelector("metadata.name", "0"))
	seen := func(value string) toolswatch.ConditionFunc {
		return func(e watch.Event) (bool, error) { return e.Object.(*corev1.ConfigMap).Data["k"] == value, nil }
	}
	write := func(cache.Store) (bool, error) { // runs when the informer has synced
		o, err := clients.CoreV1().ConfigMaps(ns).Get(ctx, "0", metav1.GetOptions{})
		if err == nil {
			o.Data = map[string]string{"k": "v"}
			_, err = clients.CoreV1().ConfigMaps(ns).Update(ctx, o, metav1.UpdateOptions{})
		}
		return false, err
	}
	for _, before := range []toolswatch.PreconditionFunc{write, nil} {
		e := plane.Must(toolswatch.UntilWithSync(ctx, list, &corev1.ConfigMap{}, before, seen("v")))(t)
		if o := e.Object.(*corev1.ConfigMap); o.Name != "0" {
			t.Errorf("got the condition on %v, want on 0", o)
		}
	}
}

// TestPagerReadsOneSnapshot checks that objects written between pages do not appear.
func TestPagerReadsOneSnapshot(t *testing.T) {
	t.Parallel()
	clients := plane.Must(kubernetes.NewForConfig(plane.Start(t)))(t)
	configMaps(t, clients, 5)
	var remaining []int64
	p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		l, err := clients.CoreV1().ConfigMaps(ns).List(ctx, o)
		if err == nil && l.RemainingItemCount != nil {
			remaining = append(remaining, *l.RemainingItemCount)
			err = clients.CoreV1().ConfigMaps(ns).Delete(ctx, "4", metav1.DeleteOptions{})
		}
		return l, ignoreNotFound(err)
	})
	p.PageSize, p.PageBufferSize = 2, 0
	var names []string
	err := p.EachListItem(t.Context(), metav1.ListOptions{}, func(o runtime.Object) error {
		names = append(names, o.(*corev1.ConfigMap).Name)
		return nil
	})
	if err != nil || !slices.Equal(names, []string{"0", "1", "2", "3", "4"}) ||
		!slices.Equal(remaining, []int64{3, 1}) {
		t.Errorf("got names %v, remaining counts %v (%v); want 0 to 4 and [3 1]", names, remaining, err)
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func TestRetryOnConflictSucceedsWithManyWriters(t *testing.T) {
	t.Parallel()
	clients, ctx := plane.Must(kubernetes.NewForConfig(plane.Start(t)))(t), t.Context()
	configMaps(t, clients, 1)
	client, failed := clients.CoreV1().ConfigMaps(ns), make(chan error)
	const writers = 8
	for range writers {
		go func() {
			failed <- retry.OnError(retry.DefaultBackoff, func(error) bool { return true }, func() error {
				o, err := client.Get(ctx, "0", metav1.GetOptions{})
				if err != nil {
					return err
				}
				o.Annotations = map[string]string{"n": o.Annotations["n"] + "1"}
				_, err = client.Update(ctx, o, metav1.UpdateOptions{})
				return err
			})
		}()
	}
	succeeded := ""
	for range writers {
		if err := <-failed; err == nil {
			succeeded += "1"
		} else if !apierrors.IsConflict(err) {
			t.Error(err)
		}
	}
	if o := plane.Must(client.Get(ctx, "0", metav1.GetOptions{}))(t); o.Annotations["n"] != succeeded {
		t.Errorf("got %d updates in the object, want the %d that succeeded", len(o.Annotations["n"]), len(succeeded))
	}
}
