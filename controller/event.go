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

// Recorder records Kubernetes Events, which tell users what a controller did about an object. Manager.Recorder creates
// one. Recording is best effort: the methods never block or fail, and a goroutine of the manager writes the events to
// the server. Repeated events become one Event with a count, events that differ only in their message are combined, and
// the rate per object is limited. If too many events wait to be written, new ones are dropped, which is logged. A
// Recorder is safe for concurrent use.
type Recorder struct {
	events    client.Resource[*corev1.Event]
	component string
	log       *slog.Logger

	mu      sync.Mutex
	ready   sync.Cond
	order   []eventKey
	waiting map[eventKey]*pendingEvent
	similar similar
	dropped int

	written map[eventKey]record // used only by run
}

// eventKey is the identity of an event. Events with equal keys become one Event with a count.
type eventKey struct {
	object                corev1.ObjectReference
	kind, reason, message string
}

// pendingEvent counts the events of a key since they were last written.
type pendingEvent struct {
	count       int32
	first, last metav1.Time
	message     string // the latest
}

// record identifies the Event object to which the events of a key were written.
type record struct {
	namespace, name string
	count           int32
}

// Bounds on a recorder's memory, and on how long it waits for the server.
const (
	maxPending    = 1024
	maxWritten    = 4096
	writeAttempts = 3
	writeTimeout  = 10 * time.Second
	stopTimeout   = 2 * time.Second
	maxMessage    = 1024 // bytes, as in events.k8s.io
)

var eventsResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// newRecorder returns a recorder. run writes what it records.
func newRecorder(c *client.Client, component string, log *slog.Logger) *Recorder {
	r := &Recorder{
		events:    client.Of[*corev1.Event](c, eventsResource),
		component: component,
		log:       log.With("component", component),
		waiting:   map[eventKey]*pendingEvent{},
		similar:   similar{map[eventKey]*messages{}, map[limitKey]*rate.Limiter{}},
		written:   map[eventKey]record{},
	}
	r.ready.L = &r.mu
	return r
}

// Normal records an expected event about obj. The reason is one word in CamelCase. The message is a format for
// arguments, as in fmt.Sprintf.
func (r *Recorder) Normal(obj client.Object, reason, message string, arguments ...any) {
	r.record(corev1.EventTypeNormal, obj, reason, fmt.Sprintf(message, arguments...))
}

// Warning is like Normal for an event that may need attention.
func (r *Recorder) Warning(obj client.Object, reason, message string, arguments ...any) {
	r.record(corev1.EventTypeWarning, obj, reason, fmt.Sprintf(message, arguments...))
}

func (r *Recorder) record(kind string, obj client.Object, reason, message string) {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "")
	}
	h := eventKey{reference(obj), kind, reason, message}
	now := metav1.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	h, message = r.similar.combine(h, now.Time)
	if !r.similar.admits(h, now.Time) {
		return
	}
	if o, waiting := r.waiting[h]; waiting {
		o.count++
		o.last, o.message = now, message
		return
	}
	if len(r.waiting) >= maxPending {
		r.dropped++
		return
	}
	r.waiting[h] = &pendingEvent{count: 1, first: now, last: now, message: message}
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
	var timeout *time.Timer
	timeoutSet := make(chan struct{})
	unlink := context.AfterFunc(ctx, func() {
		timeout = time.AfterFunc(stopTimeout, end)
		close(timeoutSet)
	})
	defer func() { // a running timer would keep the recorder in memory
		if !unlink() {
			<-timeoutSet
			timeout.Stop()
		}
	}()
	for h, o, ok := r.dequeue(ctx, true); ok; h, o, ok = r.dequeue(ctx, true) {
		r.write(writing, h, o)
	}
	for h, o, ok := r.dequeue(writing, false); ok; h, o, ok = r.dequeue(writing, false) {
		r.write(writing, h, o)
	}
}

// dequeue removes the oldest waiting event.
func (r *Recorder) dequeue(ctx context.Context, wait bool) (key eventKey, pending pendingEvent, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for wait && len(r.order) == 0 && ctx.Err() == nil {
		r.ready.Wait()
	}
	if len(r.order) == 0 || ctx.Err() != nil {
		return key, pending, false
	}
	key, r.order = r.order[0], r.order[1:]
	pending = *r.waiting[key]
	delete(r.waiting, key)
	if r.dropped > 0 {
		r.log.Warn("events were dropped: the buffer is full", "count", r.dropped)
		r.dropped = 0
	}
	return key, pending, true
}

// write writes one event. It retries if the server does not answer, but not if the server rejects the event.
func (r *Recorder) write(ctx context.Context, key eventKey, pending pendingEvent) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	event := r.event(key, pending) // the same name for all attempts: a write without a response may have succeeded
	var err error
	for attempt := range writeAttempts {
		if err = r.upsert(ctx, key, pending, event); !isTransient(err) {
			break
		}
		pause(ctx, time.Second<<attempt)
	}
	if err != nil {
		r.log.Debug("writing an event failed", "reason", key.reason, "object", key.object.Name, "error", err)
	}
}

// isTransient reports whether a write failed without a response from the server.
func isTransient(err error) bool {
	return err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown &&
		!errors.Is(err, inprocess.ErrClosed)
}

// upsert increments the count of an event written before, or creates one.
func (r *Recorder) upsert(ctx context.Context, key eventKey, pending pendingEvent, event *corev1.Event) error {
	if before, found := r.written[key]; found {
		before.count += pending.count
		patch, err := json.Marshal(map[string]any{"count": before.count, "lastTimestamp": pending.last,
			"message": pending.message})
		if err != nil {
			return err
		}
		_, err = r.events.Patch(ctx, before.namespace, before.name, "", types.MergePatchType, patch,
			metav1.PatchOptions{})
		if !apierrors.IsNotFound(err) {
			if err == nil {
				r.written[key] = before
			}
			return err
		}
	}
	if _, err := r.events.Create(ctx, event, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if len(r.written) >= maxWritten {
		clear(r.written) // restarting the counts is cheaper than tracking the oldest
	}
	r.written[key] = record{event.Namespace, event.Name, pending.count}
	return nil
}

// maxName bounds the part of an object's name that begins the name of its event, in bytes.
const maxName = 253 - len(".0123456789abcdef")

// event returns the Event to create.
func (r *Recorder) event(key eventKey, pending pendingEvent) *corev1.Event {
	namespace := key.object.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	name := strings.TrimRight(key.object.Name[:min(len(key.object.Name), maxName)], "-.")
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
			Name: fmt.Sprintf("%s.%016x", name, rand.Uint64())},
		InvolvedObject:      key.object,
		Type:                key.kind,
		Reason:              key.reason,
		Message:             pending.message,
		Source:              corev1.EventSource{Component: r.component},
		ReportingController: r.component,
		Count:               pending.count,
		FirstTimestamp:      pending.first,
		LastTimestamp:       pending.last,
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
