package server

import (
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// get answers with the latest state of one object.
func (s *Server) get(c *call) error {
	if err := c.negotiate(asTable, asPartial); err != nil {
		return err
	}
	if c.http.URL.RawQuery != "" {
		if err := s.getOptions(c.http.URL.Query()); err != nil {
			return err
		}
	}
	c.spans.at(stageRead)
	obj := s.store.Get(c.key())
	if obj == nil {
		return s.absent(c.resource(), c.key())
	}
	switch {
	case c.sub != nil && c.sub.View != nil:
		return s.answerView(c, http.StatusOK, obj)
	case c.sub != nil && c.sub.Text != nil:
		return c.answerText(obj)
	}
	return s.answer(c, http.StatusOK, obj)
}

// getOptions checks the parameters of a get: whether the latest state is at least as new as the client
// demands.
func (s *Server) getOptions(q url.Values) error {
	if export, asked := q["export"]; asked && boolParameter(export) {
		return apierrors.NewBadRequest("the export parameter, deprecated since v1.14, is no longer supported")
	}
	version := q.Get("resourceVersion")
	if version == "" || version == "0" {
		return nil
	}
	r, err := object.ParseRevision(version)
	if err != nil {
		return internalText(invalidRevision(version))
	}
	if now := s.store.Current(); r > now {
		return tooLarge(&store.FutureError{Requested: r, Current: now})
	}
	return nil
}

// answer writes a committed object: its stored bytes, a Table, or its metadata.
func (s *Server) answer(c *call, code int, obj *object.Object) error {
	c.spans.at(stageAnswer)
	switch c.accept.as {
	case asTable:
		return s.answerTable(c, code, []*object.Object{obj}, listMeta{revision: obj.Revision})
	case asPartial:
		return s.answerPartial(c, code, obj)
	}
	e, err := obj.Encoding(c.codec(), c.accept.form(c.endpoint.GroupVersion()))
	if err != nil {
		return err
	}
	c.sendWarnings()
	writeBody(c.w, code, c.accept.name, e.Bytes())
	return nil
}

// answerUncommitted writes an object that is not stored: the result of a dry run, or the last state of a
// deleted object.
func (s *Server) answerUncommitted(c *call, code int, obj kind.Object) error {
	c.spans.at(stageAnswer)
	if c.sub != nil && c.sub.View != nil {
		view, err := c.sub.View(obj)
		if err != nil {
			return err
		}
		return c.answerTyped(code, view, c.sub.Kind)
	}
	data, err := c.uncommittedBody(obj)
	if err != nil {
		return err
	}
	c.sendWarnings()
	writeBody(c.w, code, c.accept.name, data)
	return nil
}

// answerView writes what a subresource shows of an object.
func (s *Server) answerView(c *call, code int, obj *object.Object) error {
	c.spans.at(stageAnswer)
	whole, err := read(c.kind, obj)
	if err != nil {
		return err
	}
	view, err := c.sub.View(whole)
	if err != nil {
		return err
	}
	return c.answerTyped(code, view, c.sub.Kind)
}

// answerText writes the plain text of a subresource, such as a log.
func (c *call) answerText(obj *object.Object) error {
	whole, err := read(c.kind, obj)
	if err != nil {
		return err
	}
	text, err := c.sub.Text(whole)
	if err != nil {
		return err
	}
	if text == "" {
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	writeBody(c.w, http.StatusOK, "text/plain; charset=utf-8", []byte(text))
	return nil
}

// answerTyped writes a Go struct as an object of a kind, or as a Table or metadata made of it.
func (c *call) answerTyped(code int, obj runtime.Object, gvk schema.GroupVersionKind) error {
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	shown, err := c.shape(obj)
	if err != nil {
		return err
	}
	data, err := kind.Marshal(c.accept.format(), shown)
	if err != nil {
		return err
	}
	c.sendWarnings()
	writeBody(c.w, code, c.accept.name, data)
	return nil
}
