package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// workers is the number of concurrent workers. Each worker has its own objects and namespaces, so workers
	// never conflict.
	workers = 16
	// namespaces is the total number of namespaces.
	namespaces = 96
)

// kibibyte is the content of each object.
var kibibyte = strings.Repeat("0123456789abcdef", 64)

// load is the state that all workers share.
type load struct {
	client   kubernetes.Interface
	clocks   clocks
	expected [namespaces]eventCounts
	created  atomic.Int64
	deleted  atomic.Int64
}

// eventCounts are the numbers of events that the watchers of a namespace must receive: of all objects, and of red
// objects.
type eventCounts struct{ all, red atomic.Int64 }

func namespaceName(i int) string { return fmt.Sprintf("soak-%02d", i) }

// worker creates objects, changes them and deletes the oldest, in each of its namespaces in turn.
type worker struct {
	*load
	number int
	made   int // number of created objects; their numbers are below it
	gone   int // number of deleted objects
}

// isRed reports the label of an object; every second object is red.
func isRed(object int) bool { return object/(namespaces/workers)%2 == 0 }

func (w *worker) namespace(object int) int { return w.number + workers*(object%(namespaces/workers)) }

func (w *worker) maps(object int) typed.ConfigMapInterface {
	return w.client.CoreV1().ConfigMaps(namespaceName(w.namespace(object)))
}

func (w *worker) configMap(object, version int) *corev1.ConfigMap {
	colour := "blue"
	if isRed(object) {
		colour = "red"
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: w.name(object), Labels: map[string]string{"colour": colour}},
		Data:       map[string]string{"data": kibibyte, "version": fmt.Sprint(version)},
	}
}

func (w *worker) name(object int) string { return fmt.Sprintf("w%02d-%08d", w.number, object) }

// write measures a request that causes an event.
func (w *worker) write(v verb, object int, request func() error) error {
	if err := w.clocks.time(v, request); err != nil {
		return fmt.Errorf("%s of %s: %w", v, w.name(object), err)
	}
	p := &w.expected[w.namespace(object)]
	p.all.Add(1)
	if isRed(object) {
		p.red.Add(1)
	}
	return nil
}

func (w *worker) create(ctx context.Context) error {
	n := w.made
	w.made++
	w.created.Add(1)
	return w.write(create, n, func() error {
		_, err := w.maps(n).Create(ctx, w.configMap(n, 0), metav1.CreateOptions{})
		return err
	})
}

// cycle is one step of the load: it creates, deletes, changes and reads an object, and sometimes lists a
// page.
func (w *worker) cycle(ctx context.Context) error {
	if err := w.create(ctx); err != nil {
		return err
	}
	oldest, middle := w.gone, (w.gone+w.made)/2
	w.gone++
	w.deleted.Add(1)
	if err := w.write(remove, oldest, func() error {
		return w.maps(oldest).Delete(ctx, w.name(oldest), metav1.DeleteOptions{})
	}); err != nil {
		return err
	}
	if err := w.change(ctx, middle); err != nil {
		return err
	}
	if w.made%50 == 0 {
		if err := w.clocks.time(list, func() error { return w.list(ctx) }); err != nil {
			return err
		}
	}
	return w.clocks.time(get, func() error {
		_, err := w.maps(middle).Get(ctx, w.name(middle), metav1.GetOptions{})
		return err
	})
}

// change alternates between updating and patching an object.
func (w *worker) change(ctx context.Context, object int) error {
	if w.made%2 == 0 {
		return w.write(update, object, func() error {
			_, err := w.maps(object).Update(ctx, w.configMap(object, w.made), metav1.UpdateOptions{})
			return err
		})
	}
	body := fmt.Appendf(nil, `{"data":{"version":"%d"}}`, w.made)
	return w.write(patch, object, func() error {
		_, err := w.maps(object).Patch(ctx, w.name(object), types.MergePatchType, body, metav1.PatchOptions{})
		return err
	})
}

func (w *worker) list(ctx context.Context) error {
	list, err := w.client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{Limit: 500})
	if err == nil && len(list.Items) == 0 {
		err = fmt.Errorf("a list of everything is empty")
	}
	return err
}

// work runs all workers until the time is up, each at its share of the rate. A delayed worker catches up.
func (l *load) work(ctx context.Context, p plan, all []*worker) error {
	group, ctx := errgroup.WithContext(ctx)
	every := time.Second * workers / time.Duration(p.rate)
	for _, w := range all {
		group.Go(func() error {
			ticks := time.NewTicker(every)
			defer ticks.Stop()
			start := time.Now()
			for done := 0; time.Since(start) < p.duration; done++ {
				if ahead := time.Duration(done)*every - time.Since(start); ahead > 0 {
					select {
					case <-ticks.C:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				if err := w.cycle(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
