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

	"github.com/bowline-dev/bowline/client"
)

// reflector transfers the state of a resource into a delta FIFO: it lists, then watches from the list's
// revision, until its context ends. A watch that ends is resumed where it ended. If that is not possible (410
// Gone, or another error of the server), the reflector lists again.
type reflector[T client.Object] struct {
	source   client.Source
	resource schema.GroupVersionResource
	options  client.Options
	relist   time.Duration
	fifo     *deltaFIFO[T]
	log      *slog.Logger

	reader     *reader[T]
	sequence   sequence
	backoff    backoff
	lastReason metav1.StatusReason // reason of the last logged failure, until recovery
	lastError  lastError
	absence    time.Time // when the resource was first not found; zero while it is served
}

// The bounds of the wait after a failure, and the time that a watch must last to count as a success.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 10 * time.Second
	goodWatch   = 5 * time.Second
)

// maxResumptions is the number of successive failures to resume at one revision, for example because the server cannot
// encode an event, after which the reflector lists again.
const maxResumptions = 5

// relistSpread spreads the lists of clients that lost their position at the same time, such as after a
// compaction: a list is expensive for the server.
const relistSpread = 2 * time.Second

// errRelist ends a watch when the list must be read again.
var errRelist = errors.New("the list must be repeated")

// run lists and watches until ctx ends.
func (r *reflector[T]) run(ctx context.Context) {
	r.backoff = backoff{first: firstWait, longest: longestWait}
	for ctx.Err() == nil {
		following, err := r.list(ctx)
		if err == nil {
			err = r.watch(ctx, following)
		}
		switch {
		case ctx.Err() != nil || err == errRelist:
		case apierrors.IsNotFound(err):
			r.awaitResource(ctx, err)
		default:
			r.logFailure(err)
			r.waitAfter(ctx, err)
		}
	}
}

// waitAfter waits after a failure, at least as long as the server requests.
func (r *reflector[T]) waitAfter(ctx context.Context, failure error) {
	wait := r.backoff.next()
	if seconds, ok := apierrors.SuggestsClientDelay(failure); ok {
		wait += time.Duration(seconds) * time.Second
	}
	sleep(ctx, wait)
}

// list replaces the known state by the current one. It returns the watch that continues the list, or nil.
func (r *reflector[T]) list(ctx context.Context) (following client.Watch, err error) {
	list, err := r.source.List(ctx, r.resource, r.options)
	if err != nil {
		return nil, err
	}
	for _, err := range list.Unreadable {
		r.reader.reportUnreadable(err)
	}
	states := make([]*state[T], len(list.Items))
	for i, o := range list.Items {
		states[i] = r.reader.state(list.Codec, o)
	}
	r.fifo.replace(states, len(list.Unreadable) == 0, list.Revision)
	r.sequence.restart(list.Revision)
	r.recovered()
	return list.Following, nil
}

// watch processes changes since the list, over any number of watches, until the reflector must list again.
func (r *reflector[T]) watch(ctx context.Context, following client.Watch) error {
	if r.relist > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, r.relist, errRelist)
		defer cancel()
		ctx = limited
	}
	for failures := 0; ; {
		start, from := time.Now(), r.sequence.last
		err := r.watchOnce(ctx, following)
		following = nil
		if context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		if time.Since(start) >= goodWatch {
			r.backoff.reset()
		}
		if r.sequence.last != from {
			failures = 0
		}
		switch {
		case err == io.EOF && time.Since(start) >= goodWatch:
			continue
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			r.log.Debug("the watch's revision has expired: listing again", "revision",
				r.sequence.last)
			// do not list in a tight loop if the server compacts at once
			sleep(ctx, r.backoff.next()+spread(relistSpread))
			return errRelist
		case isFailure(err):
			failures++
		}
		if !canResume(err) || failures > maxResumptions {
			return err
		}
		if err != io.EOF {
			r.logFailure(err)
		}
		r.waitAfter(ctx, err)
	}
}

// canResume reports whether a watch that failed may be resumed at the same revision: the connection broke, or
// the server is busy.
func canResume(err error) bool {
	if errors.Is(err, client.ErrUnreadable) {
		return false // the server may send the same event again
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return false // this server has not reached the revision: another one sent it
	}
	return isBusy(err) || isFailure(err)
}

// isBusy reports whether an error asks the client to retry later.
func isBusy(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServerTimeout(err)
}

// isFailure reports whether an error is an internal failure of the server.
func isFailure(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !isBusy(err) && (apierrors.IsInternalError(err) || status.Status().Code >= 500)
}

// startWatch returns the watch that came with a list, or starts one at the last revision.
func (r *reflector[T]) startWatch(ctx context.Context, following client.Watch) (client.Watch, error) {
	if following != nil {
		return following, nil
	}
	options := r.options
	options.After = r.sequence.last
	return r.source.Watch(ctx, r.resource, options)
}

// watchOnce processes the events of one watch.
func (r *reflector[T]) watchOnce(ctx context.Context, following client.Watch) error {
	watching, err := r.startWatch(ctx, following)
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
		if err := r.enqueue(events); err != nil {
			return err
		}
	}
}

// logFailure logs a failure unless the previous one had the same reason.
func (r *reflector[T]) logFailure(err error) {
	r.lastError.set(err)
	reason := apierrors.ReasonForError(err)
	if reason == metav1.StatusReasonUnknown {
		reason = "Unreachable"
	}
	if reason == r.lastReason {
		return
	}
	r.lastReason = reason
	if reason == metav1.StatusReasonNotFound {
		r.log.Info("the resource is not served yet: waiting for its definition")
		return
	}
	r.log.Warn("list or watch failed, will retry", "error", err)
}

// recovered clears the last failure.
func (r *reflector[T]) recovered() {
	r.absence = time.Time{}
	r.lastError.set(nil)
	if r.lastReason != "" {
		r.log.Info("the resource is served now")
		r.lastReason = ""
	}
}
