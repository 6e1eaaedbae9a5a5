package informer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/client"
)

// reflector brings the state of a resource into a delta FIFO: it lists, then watches from the list's revision, and goes
// on for as long as its context does. A watch that ends is begun again where it ended; when that place is gone (410), or
// the server says anything else against it, the reflector lists again.
type reflector[T client.Object] struct {
	source   client.Source
	resource schema.GroupVersionResource
	options  client.Options
	relist   time.Duration
	fifo     *deltaFIFO[T]
	log      *slog.Logger

	reader   *reader[T]
	sequence sequence
	backoff  backoff
	trouble  metav1.StatusReason // what was logged last and is not over yet
	ailing   ailment
	absence  time.Time // when the resource was first found not to be served; zero while it is
}

// How long to wait after a failure, and how long a watch must have lasted to count as none.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 10 * time.Second
	goodWatch   = 5 * time.Second
)

// errRelist is the end of a watch whose turn to be listed anew has come.
var errRelist = errors.New("the list is to be read anew")

// run lists and watches until ctx ends.
func (r *reflector[T]) run(ctx context.Context) {
	r.backoff = backoff{first: firstWait, most: longestWait}
	for ctx.Err() == nil {
		err := r.list(ctx)
		if err == nil {
			err = r.watch(ctx)
		}
		switch {
		case ctx.Err() != nil || err == errRelist:
		case apierrors.IsNotFound(err):
			r.await(ctx, err)
		default:
			r.complain(err)
			sleep(ctx, r.backoff.next())
		}
	}
}

// list replaces what is known by what there is.
func (r *reflector[T]) list(ctx context.Context) error {
	list, err := r.source.List(ctx, r.resource, r.options)
	if err != nil {
		return err
	}
	states := make([]*state[T], 0, len(list.Items))
	for _, o := range list.Items {
		s, err := r.reader.state(list.Codec, o)
		if err != nil {
			// One object that cannot be read must not hold up the rest, nor look as if it were deleted.
			r.log.Error("an object cannot be read: its last known state stands", "error", err)
			if s = r.fifo.cached.state(keyOf(o)); s == nil {
				continue
			}
		}
		states = append(states, s)
	}
	r.fifo.replace(states, list.Revision)
	r.sequence.restart(list.Revision)
	r.recovered()
	return nil
}

// watch follows the changes since the list, through as many watches as it takes, until listing again is due.
func (r *reflector[T]) watch(ctx context.Context) error {
	if r.relist > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, r.relist, errRelist)
		defer cancel()
		ctx = limited
	}
	for {
		begun := time.Now()
		err := r.watchOnce(ctx)
		if context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		if time.Since(begun) >= goodWatch {
			r.backoff.reset()
		}
		switch {
		case err == io.EOF && time.Since(begun) >= goodWatch:
			continue
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			r.log.Debug("the watch has fallen behind what the server remembers: listing again", "revision", r.sequence.last)
			sleep(ctx, r.backoff.next()) // or a server that forgets at once would be asked without pause
			return errRelist
		case !canResume(err):
			return err
		}
		if err != io.EOF {
			r.complain(err)
		}
		sleep(ctx, r.backoff.next())
	}
}

// canResume says whether what ended a watch leaves hope that it goes on at the same place: the connection broke, or the
// server is busy.
func canResume(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return false // the server does not know the place yet: it is not the one that told of it
	}
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// watchOnce passes on the events of one watch.
func (r *reflector[T]) watchOnce(ctx context.Context) error {
	options := r.options
	options.After = r.sequence.last
	watching, err := r.source.Watch(ctx, r.resource, options)
	if err != nil {
		return err
	}
	defer watching.Stop()
	r.recovered()
	for {
		events, err := watching.Next(ctx)
		if err != nil {
			return err
		}
		changes := make([]delta[T], 0, len(events))
		for _, event := range events {
			if change, ok := r.delta(event); ok {
				changes = append(changes, change)
			}
		}
		r.fifo.add(changes, r.sequence.last)
	}
}

// delta is what an event is to the FIFO; false when it is nothing to it.
func (r *reflector[T]) delta(event client.Event) (change delta[T], ok bool) {
	if event.Type == watch.Bookmark {
		r.sequence.settle(event.Revision)
		return change, false
	}
	if !r.sequence.admits(keyOf(event.Object), event.Revision, event.Type == watch.Deleted) {
		return change, false
	}
	s, err := r.reader.state(event.Codec, event.Object)
	if err != nil {
		r.log.Error("an object cannot be read: its last known state stands", "error", err)
		return change, false
	}
	return delta[T]{Type: deltaType(event.Type), state: s}, true
}

func deltaType(t watch.EventType) DeltaType {
	switch t {
	case watch.Added:
		return Added
	case watch.Deleted:
		return Deleted
	}
	return Updated
}

// complain logs a trouble when it begins, not each time that it is met again.
func (r *reflector[T]) complain(err error) {
	r.ailing.set(err)
	reason := apierrors.ReasonForError(err)
	if reason == metav1.StatusReasonUnknown {
		reason = "Unreachable"
	}
	if reason == r.trouble {
		return
	}
	r.trouble = reason
	if reason == metav1.StatusReasonNotFound {
		r.log.Info("nothing serves this resource yet: waiting until its definition is created")
		return
	}
	r.log.Warn("cannot list or watch: trying again until it works", "error", err)
}

// recovered ends a trouble.
func (r *reflector[T]) recovered() {
	r.absence = time.Time{}
	r.ailing.set(nil)
	if r.trouble != "" {
		r.log.Info("the resource is served now")
		r.trouble = ""
	}
}
