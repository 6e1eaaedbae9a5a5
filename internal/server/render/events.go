package render

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// Events encodes the events of one watch as the frames of its stream. The caller sends each frame, in order.
type Events struct {
	req     *request.Request
	form    object.Form                // of events whose objects are not transformed
	include metav1.IncludeObjectPolicy // of tables
	started bool                       // whether a frame was made: only the first table has columns
}

// NewEvents returns the encoder of a watch. It fails if the request's options for tables are invalid.
func NewEvents(req *request.Request) (Events, error) {
	e := Events{req: req, form: req.Form()}
	var err error
	if req.Accept.As == request.AsTable {
		e.include, err = TableOptions(req)
	}
	return e, err
}

// Frame encodes an event as one of type t. Watches of the same form share the result: the caller does not change it.
func (e *Events) Frame(event *object.Event, t watch.EventType) ([]byte, error) {
	first := !e.started
	e.started = true
	if e.req.Accept.As == "" {
		return event.Frame(e.req.Codec(), t, e.form)
	}
	shown, err := event.Shown(t)
	if err != nil {
		return nil, err
	}
	var data []byte
	if e.req.Accept.As == request.AsPartial {
		data, err = partialBody(e.req, shown)
	} else {
		one := request.Page{Items: []*object.Object{shown}, Meta: request.ListMeta{Revision: shown.Revision}}
		data, err = table(e.req, e.include, &one, first)
	}
	if err != nil {
		return nil, err
	}
	return object.AppendFrame(nil, t, e.req.Accept.Format(), data), nil
}

// Bookmark encodes a bookmark: an empty object that carries a revision. endOfInitial marks the one that follows the
// initial state (KEP-3157).
func (e *Events) Bookmark(revision object.Revision, endOfInitial bool) ([]byte, error) {
	e.started = true
	obj := e.req.Kind.New()
	obj.SetResourceVersion(revision.String())
	if endOfInitial {
		obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	var data []byte
	var err error
	switch e.req.Accept.As {
	case request.AsTable:
		data, err = bookmarkTable(e.req, obj)
	case request.AsPartial:
		data, err = kind.Marshal(e.req.Accept.Format(), partial(obj, e.req.Accept.MetaVersion()))
	default:
		data, err = e.req.Kind.Encode(e.form, obj)
	}
	if err != nil {
		return nil, err
	}
	return object.AppendFrame(nil, watch.Bookmark, e.req.Accept.Format(), data), nil
}

// Error encodes the error that ends the watch.
func (e *Events) Error(s metav1.Status) ([]byte, error) {
	e.started = true
	s.Kind, s.APIVersion = "Status", "v1"
	data, err := kind.Marshal(e.req.Accept.Format(), &s)
	if err != nil {
		return nil, err
	}
	return object.AppendFrame(nil, watch.Error, e.req.Accept.Format(), data), nil
}
