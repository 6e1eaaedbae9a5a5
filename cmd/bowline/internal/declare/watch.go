package declare

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Reporter receives the progress of a Watch. Watch calls it from a single goroutine.
type Reporter interface {
	// Ready is called once for each object that becomes ready.
	Ready(a Applied, t Readiness)
	// NotReady is called when the reason why an object is not ready changes.
	NotReady(a Applied, t Readiness)
	// Deleted is called if an object is deleted before it becomes ready.
	Deleted(a Applied)
	// StillWaiting is called periodically with the objects that are not ready.
	StillWaiting(waiting []Applied)
}

// Watch waits until every object is ready or deleted, and reports each of them. It returns early only if ctx
// is done or the watches cannot be started. The function controlled reports whether a running controller sets
// the condition for objects of a kind. StillWaiting is called at the interval progress.
func Watch(ctx context.Context, config *rest.Config, objects []Applied, controlled func(schema.GroupKind) bool,
	progress time.Duration, report Reporter) error {
	w := &watch{controlled: controlled, report: report, waiting: map[objectKey]*awaited{}}
	for _, object := range objects {
		w.waiting[object.key()] = &awaited{Applied: object}
		w.update(object.key(), object.Object)
	}
	if len(w.waiting) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, stopped, err := w.start(ctx, config)
	if err != nil {
		return err
	}
	w.run(ctx, events, progress)
	cancel()
	stopped.Wait()
	return nil
}

type watch struct {
	controlled func(schema.GroupKind) bool
	report     Reporter
	waiting    map[objectKey]*awaited
}

type awaited struct {
	Applied
	last Readiness
}

// observed is an observed object, or nil if it was deleted.
type observed struct {
	key    objectKey
	object *unstructured.Unstructured
}

// start watches the resources of all waiting objects. The group is done when all watches have stopped.
func (w *watch) start(ctx context.Context, config *rest.Config) (<-chan observed, *sync.WaitGroup, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{} // Apply has already reported the warnings
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a client for watches: %w", err)
	}
	keys := map[schema.GroupVersionResource][]objectKey{}
	for key := range w.waiting {
		keys[key.resource] = append(keys[key.resource], key)
	}
	var group sync.WaitGroup
	feed := feed{ctx: ctx, events: make(chan observed)}
	for resource, keys := range keys {
		informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, "", 0, nil, nil).Informer()
		registration, err := informer.AddEventHandler(feed.handler(resource))
		if err != nil {
			return nil, nil, fmt.Errorf("watching %s: %w", resource.GroupResource(), err)
		}
		group.Go(func() { informer.RunWithContext(ctx) })
		group.Go(func() { feed.sendMissing(registration, informer.GetStore(), keys) })
	}
	return feed.events, &group, nil
}

// feed sends the informers' events to the goroutine that evaluates them, until ctx is done.
type feed struct {
	ctx    context.Context
	events chan observed
}

func (f feed) send(event observed) {
	select {
	case f.events <- event:
	case <-f.ctx.Done():
	}
}

func (f feed) handler(resource schema.GroupVersionResource) cache.ResourceEventHandler {
	send := func(value any, deleted bool) {
		if unknown, ok := value.(cache.DeletedFinalStateUnknown); ok {
			value = unknown.Obj
		}
		object, ok := value.(*unstructured.Unstructured)
		if !ok {
			return
		}
		event := observed{key: objectKey{resource, object.GetNamespace(), object.GetName()}}
		if !deleted {
			event.object = object
		}
		f.send(event)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { send(object, false) },
		UpdateFunc: func(_, object any) { send(object, false) },
		DeleteFunc: func(object any) { send(object, true) },
	}
}

// sendMissing reports the objects that were deleted before the watch started, for which there is no event.
func (f feed) sendMissing(registration cache.ResourceEventHandlerRegistration, store cache.Store, keys []objectKey) {
	select {
	case <-registration.HasSyncedChecker().Done():
	case <-f.ctx.Done():
		return
	}
	for _, key := range keys {
		name := cache.NewObjectName(key.namespace, key.name).String()
		if _, exists, err := store.GetByKey(name); err == nil && !exists {
			f.send(observed{key: key})
		}
	}
}

func (w *watch) run(ctx context.Context, events <-chan observed, progress time.Duration) {
	ticker := time.NewTicker(progress)
	defer ticker.Stop()
	for len(w.waiting) > 0 {
		select {
		case event := <-events:
			w.update(event.key, event.object)
		case <-ticker.C:
			w.report.StillWaiting(w.remaining())
		case <-ctx.Done():
			return
		}
	}
}

// update evaluates the current state of an object and reports a change to the reporter.
func (w *watch) update(key objectKey, object *unstructured.Unstructured) {
	a, ok := w.waiting[key]
	if !ok {
		return
	}
	if object == nil {
		delete(w.waiting, key)
		w.report.Deleted(a.Applied)
		return
	}
	a.Object = object
	readiness := ReadinessOf(object, w.controlled(object.GroupVersionKind().GroupKind()))
	if readiness.Ready {
		delete(w.waiting, key)
		w.report.Ready(a.Applied, readiness)
	} else if _, hasCondition := condition(object, readiness.State); hasCondition && readiness != a.last {
		w.report.NotReady(a.Applied, readiness)
	}
	a.last = readiness
}

// remaining returns the objects that are not ready, sorted by name.
func (w *watch) remaining() []Applied {
	var notReady []Applied
	for a := range maps.Values(w.waiting) {
		notReady = append(notReady, a.Applied)
	}
	slices.SortFunc(notReady, func(a, b Applied) int { return strings.Compare(a.Name(), b.Name()) })
	return notReady
}
