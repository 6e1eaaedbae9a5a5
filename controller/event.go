package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/inprocess"
)

// Recorder records Kubernetes Events, which tell people what a controller did about an object. Recording is
// best effort: it never blocks or fails, and one goroutine writes. Repeated events become one object with a
// count, events that differ only in their message are combined, and the rate per object is limited. If too
// many events wait to be written, new ones are dropped. A Recorder is safe for concurrent use.
type Recorder struct {
	events    client.Resource[*corev1.Event]
	component string
	log       *slog.Logger

	mu      sync.Mutex
	ready   sync.Cond
	order   []happening
	waiting map[happening]*occurrences
	similar similar
	dropped int

	written map[happening]record // used only by run
}

// happening is the identity of an event: equal happenings are counted as one.
type happening struct {
	object                corev1.ObjectReference
	kind, reason, message string
}

// occurrences counts a happening since it was last written.
type occurrences struct {
	count       int32
	first, last metav1.Time
	message     string // the latest
}

// record is the Event object that a happening was written to.
type record struct {
	namespace, name string
	count           int32
}

// Bounds on a recorder's memory, and on how long it waits for the server.
const (
	keptHappenings = 1024
	keptRecords    = 4096
	writeAttempts  = 3
	writeTimeout   = 10 * time.Second
	lastWrites     = 2 * time.Second
	longestMessage = 1024 // bytes, as in events.k8s.io
)

var eventsResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// newRecorder returns a recorder. run writes what it records.
func newRecorder(c *client.Client, component string, log *slog.Logger) *Recorder {
	r := &Recorder{
		events:    client.Of[*corev1.Event](c, eventsResource),
		component: component,
		log:       log.With("component", component),
		waiting:   map[happening]*occurrences{},
		similar:   similar{map[happening]*messages{}, map[spammer]*rate.Limiter{}},
		written:   map[happening]record{},
	}
	r.ready.L = &r.mu
	return r
}

// Normal records an expected event. The reason is one word in CamelCase.
func (r *Recorder) Normal(obj client.Object, reason, message string, arguments ...any) {
	r.record(corev1.EventTypeNormal, obj, reason, fmt.Sprintf(message, arguments...))
}

// Warning records an event that may need attention. The reason is one word in CamelCase.
func (r *Recorder) Warning(obj client.Object, reason, message string, arguments ...any) {
	r.record(corev1.EventTypeWarning, obj, reason, fmt.Sprintf(message, arguments...))
}

func (r *Recorder) record(kind string, obj client.Object, reason, message string) {
	if len(message) > longestMessage {
		message = strings.ToValidUTF8(message[:longestMessage], "")
	}
	h := happening{reference(obj), kind, reason, message}
	now := metav1.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	h, message = r.similar.combine(h, now.Time)
	if !r.similar.admits(h, now.Time) {
		return
	}
	if o, again := r.waiting[h]; again {
		o.count++
		o.last, o.message = now, message
		return
	}
	if len(r.waiting) >= keptHappenings {
		r.dropped++
		return
	}
	r.waiting[h] = &occurrences{count: 1, first: now, last: now, message: message}
	r.order = append(r.order, h)
	r.ready.Signal()
}

// reference returns an object reference without the revision, so that events about all states of an object
// are equal.
func reference(obj client.Object) corev1.ObjectReference {
	kind := obj.GetObjectKind().GroupVersionKind()
	if kind.Kind == "" {
		kind.Kind = reflect.TypeOf(obj).Elem().Name()
	}
	apiVersion, _ := kind.ToAPIVersionAndKind()
	return corev1.ObjectReference{
		APIVersion: apiVersion,
		Kind:       kind.Kind,
		Namespace:  obj.GetNamespace(),
		Name:       obj.GetName(),
		UID:        obj.GetUID(),
	}
}

// run writes events until ctx ends, and then for up to two seconds those that still wait.
func (r *Recorder) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ready.Broadcast()
	})
	defer stop()
	writing, end := context.WithCancel(context.WithoutCancel(ctx)) // a write in progress when ctx ends is completed
	defer end()
	var late *time.Timer
	timed := make(chan struct{})
	unlink := context.AfterFunc(ctx, func() {
		late = time.AfterFunc(lastWrites, end)
		close(timed)
	})
	defer func() { // a running timer would keep the recorder in memory
		if !unlink() {
			<-timed
			late.Stop()
		}
	}()
	for h, o, ok := r.take(ctx, true); ok; h, o, ok = r.take(ctx, true) {
		r.write(writing, h, o)
	}
	for h, o, ok := r.take(writing, false); ok; h, o, ok = r.take(writing, false) {
		r.write(writing, h, o)
	}
}

// take removes the oldest waiting event.
func (r *Recorder) take(ctx context.Context, wait bool) (h happening, o occurrences, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for wait && len(r.order) == 0 && ctx.Err() == nil {
		r.ready.Wait()
	}
	if len(r.order) == 0 || ctx.Err() != nil {
		return h, o, false
	}
	h, r.order = r.order[0], r.order[1:]
	o = *r.waiting[h]
	delete(r.waiting, h)
	if r.dropped > 0 {
		r.log.Warn("events were dropped: the buffer is full", "count", r.dropped)
		r.dropped = 0
	}
	return h, o, true
}

// write writes one event. It retries if the server does not answer, but not if the server rejects the event.
func (r *Recorder) write(ctx context.Context, h happening, o occurrences) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	event := r.event(h, o) // the same name for all attempts: a write without a response may have succeeded
	var err error
	for attempt := range writeAttempts {
		if err = r.put(ctx, h, o, event); !isPassing(err) {
			break
		}
		pause(ctx, time.Second<<attempt)
	}
	if err != nil {
		r.log.Debug("writing an event failed", "reason", h.reason, "object", h.object.Name, "error", err)
	}
}

// isPassing reports whether a write failed without a response from the server.
func isPassing(err error) bool {
	return err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown &&
		!errors.Is(err, inprocess.ErrClosed)
}

// put increments the count of an event written before, or creates one.
func (r *Recorder) put(ctx context.Context, h happening, o occurrences, event *corev1.Event) error {
	if before, again := r.written[h]; again {
		before.count += o.count
		patch, err := json.Marshal(map[string]any{"count": before.count, "lastTimestamp": o.last, "message": o.message})
		if err != nil {
			return err
		}
		_, err = r.events.Patch(ctx, before.namespace, before.name, "", types.MergePatchType, patch,
			metav1.PatchOptions{})
		if !apierrors.IsNotFound(err) {
			if err == nil {
				r.written[h] = before
			}
			return err
		}
	}
	if _, err := r.events.Create(ctx, event, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if len(r.written) >= keptRecords {
		clear(r.written) // restarting the counts is cheaper than tracking the oldest
	}
	r.written[h] = record{event.Namespace, event.Name, o.count}
	return nil
}

// longestName is how much of an object's name goes into the name of its event.
const longestName = 253 - len(".0123456789abcdef")

// event returns the Event to create.
func (r *Recorder) event(h happening, o occurrences) *corev1.Event {
	namespace := h.object.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	name := strings.TrimRight(h.object.Name[:min(len(h.object.Name), longestName)], "-.")
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
			Name: fmt.Sprintf("%s.%016x", name, rand.Uint64())},
		InvolvedObject:      h.object,
		Type:                h.kind,
		Reason:              h.reason,
		Message:             o.message,
		Source:              corev1.EventSource{Component: r.component},
		ReportingController: r.component,
		Count:               o.count,
		FirstTimestamp:      o.first,
		LastTimestamp:       o.last,
	}
}

// pause waits for a time or for the end of ctx.
func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
