package server

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// drain sends one batch of events and flushes it. more reports whether further events may be ready.
func (w *watching) drain() (more bool, err error) {
	events, err := w.changes.Take(batch)
	if err != nil || len(events) == 0 {
		return false, err
	}
	for _, e := range events {
		kind, seen := w.selected.typeOf(e)
		if !seen {
			continue
		}
		if err := w.send(e, kind); err != nil {
			return false, err
		}
		w.sent = e.Revision()
	}
	return len(events) == batch, w.stream.flush()
}

// send writes one event in the form that the client negotiated.
func (w *watching) send(e *object.Event, kind watch.EventType) error {
	if w.c.accept.as != "" {
		return w.sendTransformed(e, kind)
	}
	frame, err := e.Frame(w.c.codec(), kind, w.form)
	if err != nil {
		return err
	}
	return w.stream.write(frame)
}

// sendTransformed writes an event whose object is shown as a Table or as metadata alone.
func (w *watching) sendTransformed(e *object.Event, kind watch.EventType) error {
	shown, err := e.Shown(kind)
	if err != nil {
		return err
	}
	data, err := w.c.transformed(shown, w.stream.events == 0)
	if err != nil {
		return err
	}
	return w.stream.write(object.AppendFrame(nil, kind, w.c.accept.format(), data))
}

// progress sends the events that are ready, then a bookmark. The bookmark also shows that the connection is
// alive: clients give up on a server that is silent for long.
func (w *watching) progress() error {
	if _, err := w.drain(); err != nil {
		return err
	}
	w.sent = max(w.sent, w.changes.Revision())
	if err := w.bookmark(false); err != nil {
		return err
	}
	return w.stream.flush()
}

// bookmark writes a bookmark: an empty object that carries a revision.
func (w *watching) bookmark(endOfInitial bool) error {
	obj := w.c.kind.New()
	obj.SetResourceVersion(w.sent.String())
	if endOfInitial {
		obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	data, err := w.c.bookmarkBody(obj)
	if err != nil {
		return err
	}
	return w.stream.write(object.AppendFrame(nil, watch.Bookmark, w.c.accept.format(), data))
}

func (c *call) bookmarkBody(obj kind.Object) ([]byte, error) {
	if c.accept.as != "" {
		return c.transformedBookmark(obj)
	}
	return c.kind.Encode(c.accept.form(c.endpoint.GroupVersion()), obj)
}
