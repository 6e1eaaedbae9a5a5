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

// mostResumptions is how often in a row a server may fail to go on at the same place, which may be an event that it cannot
// tell of, before the reflector lists again.
const mostResumptions = 5

// relistSpread is over what time those come back who all lost their place in the history at once, as when the server
// forgot it: each list is much work, a watch is little.
const relistSpread = 2 * time.Second

// errRelist is the end of a watch whose turn to be listed anew has come.
var errRelist = errors.New("the list is to be read anew")

// run lists and watches until ctx ends.
func (r *reflector[T]) run(ctx context.Context) {
	r.backoff = backoff{first: firstWait, most: longestWait}
	for ctx.Err() == nil {
		following, err := r.list(ctx)
		if err == nil {
			err = r.watch(ctx, following)
		}
		switch {
		case ctx.Err() != nil || err == errRelist:
		case apierrors.IsNotFound(err):
			r.await(ctx, err)
		default:
			r.complain(err)
			r.rest(ctx, err)
		}
	}
}

// rest waits after a failure, for as long as the server asks at least.
func (r *reflector[T]) rest(ctx context.Context, failure error) {
	wait := r.backoff.next()
	if seconds, told := apierrors.SuggestsClientDelay(failure); told {
		wait += time.Duration(seconds) * time.Second
	}
	sleep(ctx, wait)
}

// list replaces what is known by what there is. The watch that goes on behind the list is nil when one is to be begun.
func (r *reflector[T]) list(ctx context.Context) (following client.Watch, err error) {
	list, err := r.source.List(ctx, r.resource, r.options)
	if err != nil {
		return nil, err
	}
	for _, err := range list.Unreadable { // and so it cannot be told what is not in the list
		r.reader.passOver(err)
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

// watch follows the changes since the list, through as many watches as it takes, until listing again is due.
func (r *reflector[T]) watch(ctx context.Context, following client.Watch) error {
	if r.relist > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, r.relist, errRelist)
		defer cancel()
		ctx = limited
	}
	for failures := 0; ; {
		begun, from := time.Now(), r.sequence.last
		err := r.watchOnce(ctx, following)
		following = nil
		if context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		if time.Since(begun) >= goodWatch {
			r.backoff.reset()
		}
		if r.sequence.last != from {
			failures = 0
		}
		switch {
		case err == io.EOF && time.Since(begun) >= goodWatch:
			continue
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			r.log.Debug("the watch has fallen behind what the server remembers: listing again", "revision", r.sequence.last)
			sleep(ctx, r.backoff.next()+spread(relistSpread)) // or a server that forgets at once would be asked without pause
			return errRelist
		case isFailure(err):
			failures++
		}
		if !canResume(err) || failures > mostResumptions {
			return err
		}
		if err != io.EOF {
			r.complain(err)
		}
		r.rest(ctx, err)
	}
}

// canResume says whether what ended a watch leaves hope that it goes on at the same place: the connection broke, or the
// server is busy.
func canResume(err error) bool {
	if errors.Is(err, client.ErrUnreadable) {
		return false // it may be sent again
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return false // the server does not know the place yet: it is not the one that told of it
	}
	return isBusy(err) || isFailure(err)
}

// isBusy says whether a server asks for patience.
func isBusy(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// isFailure says whether something in a server went wrong.
func isFailure(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !isBusy(err) && (apierrors.IsInternalError(err) || status.Status().Code >= 500)
}

// begin is the watch that came with a list, or a new one where the last one ended.
func (r *reflector[T]) begin(ctx context.Context, following client.Watch) (client.Watch, error) {
	if following != nil {
		return following, nil
	}
	options := r.options
	options.After = r.sequence.last
	return r.source.Watch(ctx, r.resource, options)
}

// watchOnce passes on the events of one watch.
func (r *reflector[T]) watchOnce(ctx context.Context, following client.Watch) error {
	watching, err := r.begin(ctx, following)
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
		if err := r.take(events); err != nil {
			return err
		}
	}
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
