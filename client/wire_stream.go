package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/wire"
)

// listIdleTimeout bounds the time until a server that streams a list sends the next object or the end of the list. A
// server that does not support sendInitialEvents may start an ordinary watch, in which the end of the list never comes.
const listIdleTimeout = 10 * time.Second

var errEndless = errors.New("the server did not mark the end of the list")

// stream reads a list as the initial events of a watch (KEP-3157). A bookmark marks the end of the list;
// changes follow.
func (s *wireSource) stream(ctx context.Context, resource schema.GroupVersionResource, options Options) (List, error) {
	query := listOptions(options)
	query.SendInitialEvents = new(true)
	query.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	w, err := s.watch(ctx, resource, options, query)
	if err != nil {
		return List{}, err
	}
	list := streamed{List: List{Codec: s.codec, Following: w}, at: map[object.Key]int{}}
	endless := time.AfterFunc(listIdleTimeout, w.Stop)
	for err == nil && !list.ended {
		known := len(list.Items)
		err = list.next(w)
		if len(list.Items) > known && !list.changing && !endless.Reset(listIdleTimeout) {
			err = errEndless
		}
	}
	if !endless.Stop() {
		err = errEndless
	}
	if err != nil {
		w.Stop()
		return List{}, fmt.Errorf("streamed list of %s: %w", resource.Resource, err)
	}
	list.Items = slices.DeleteFunc(list.Items, func(o *object.Object) bool { return o == nil })
	return list.List, nil
}

// streamed is a list that is still being received.
type streamed struct {
	List
	at       map[object.Key]int
	changing bool // all objects have arrived, followed by concurrent changes
	ended    bool
}

// next adds the next event to the list. Events received together with the end of the list stay in the watch.
func (l *streamed) next(w *wireWatch) error {
	frame, err := w.frames.Next()
	if err != nil {
		return wire.UnexpectedEOF(err)
	}
	if frame.Kind == watch.Bookmark {
		l.Revision, l.ended, err = w.frames.Bookmark(frame.Object)
		return err
	}
	l.changing = l.changing || frame.Kind != watch.Added
	o, err := w.objects.Receive(w.frames.Format(), frame.Object)
	if err != nil {
		l.Unreadable = append(l.Unreadable, err)
		return nil
	}
	i, known := l.at[o.Key]
	if !known {
		i = len(l.Items)
		l.at[o.Key] = i
		l.Items = append(l.Items, nil)
	}
	l.Items[i] = o
	if frame.Kind == watch.Deleted {
		l.Items[i] = nil
	}
	return nil
}

// streams reports whether to stream lists of a resource.
func (s *wireSource) streams(resource schema.GroupVersionResource) bool {
	_, cannot := s.notStreamed.Load(resource)
	return s.streaming && !cannot
}

// disableStreaming records that the server does not stream lists of a resource.
func (s *wireSource) disableStreaming(resource schema.GroupVersionResource) {
	s.notStreamed.Store(resource, true)
}

// cannotStream reports whether an error shows that the server does not support streaming this list.
func cannotStream(err error) bool {
	return errors.Is(err, errEndless) || apierrors.IsInvalid(err) ||
		apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsNotAcceptable(err)
}
