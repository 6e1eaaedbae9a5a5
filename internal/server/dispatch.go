package server

import (
	"context"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
)

// serveResource finds the kind and runs the verb's function. If it returns an error, nothing was answered
// yet.
func (s *Server) serveResource(x *exchange, w http.ResponseWriter, r *http.Request, user *auth.User) error {
	target := &x.route
	entry, ok := s.kinds.Find(target.gvr)
	if !ok {
		return s.unknownResource(w, r, target)
	}
	if target.outlastsItsClient(r) {
		// The work after the commit is finished even if the client disconnects.
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	c := &call{http: r, w: w, route: target, kind: entry.Kind, endpoint: entry.Endpoint, user: user, spans: x.spans,
		exchange: x, server: s}
	if target.subresource != "" {
		if c.sub = c.info().Subresource(target.subresource); c.sub == nil ||
			!c.sub.ServedIn(target.gvr.GroupVersion()) {
			return c.noSubresource()
		}
	}
	if warning := c.endpoint.Deprecated; warning != "" {
		c.warn(warning)
	}
	switch {
	case !c.inScope():
		return noResource()
	case !c.served():
		return methodNotAllowed()
	}
	err := s.verb(c)
	if err != nil {
		c.sendWarnings()
	}
	return err
}

// unknownResource answers with a 404: a Status, or the plain page if the group does not exist either, as
// Kubernetes does.
func (s *Server) unknownResource(w http.ResponseWriter, r *http.Request, target *route) error {
	if err := s.undefined(target.gvr.GroupResource()); err != nil {
		return err
	}
	if s.servesGroup(target.gvr.Group) {
		return noResource()
	}
	pageNotFound(w)
	return nil
}

// noSubresource is the 404 of a subresource that the kind does not have. For custom resources, Kubernetes
// looks for the object first and reports that the object does not exist.
func (c *call) noSubresource() error {
	if !c.builtin() {
		return notFound(c.resource(), c.name)
	}
	return noResource()
}

// inScope reports whether the path is valid for the kind's scope: namespaced objects are in a namespace,
// others are not. The path of a Namespace names it in the place of a namespace. Across namespaces, custom
// resources can only be listed and watched; for other kinds, Kubernetes' router knows the path and refuses
// the method.
func (c *call) inScope() bool {
	if c.info().Namespaced {
		across := c.verb == "list" || c.verb == "watch" || c.builtin()
		return c.namespace != "" || c.name == "" && across
	}
	return c.namespace == "" || c.gvr.Group == "" && c.gvr.Resource == "namespaces"
}

// served reports whether the resource or subresource supports the verb at this path.
func (c *call) served() bool {
	if c.verb == "watch" && c.http.Method != http.MethodGet || c.http.Method == http.MethodHead && c.builtin() {
		return false // Kubernetes' router does not support HEAD; custom resources do not use it
	}
	if c.sub != nil {
		return slices.Contains(c.sub.Verbs, c.verb)
	}
	collection := c.verb == "list" || c.verb == "watch" || c.verb == "deletecollection" || c.verb == "create"
	if c.info().Namespaced && c.namespace == "" && c.verb != "list" && c.verb != "watch" {
		return false
	}
	if c.name == "" && !collection || c.name != "" && c.verb == "create" {
		return false
	}
	return c.info().HasVerb(c.verb)
}

func (s *Server) verb(c *call) error {
	switch c.verb {
	case "get":
		return s.get(c)
	case "list":
		return s.list(c)
	case "watch":
		return s.watch(c)
	case "create":
		if c.sub != nil {
			return s.act(c)
		}
		return s.create(c)
	case "update":
		return s.update(c)
	case "patch":
		return s.patch(c)
	case "delete":
		return s.delete(c)
	case "deletecollection":
		return s.deleteCollection(c)
	}
	return methodNotAllowed()
}

// act serves the create of a subresource: it applies the body to the object, or evicts the object.
func (s *Server) act(c *call) error {
	if err := c.negotiate(); err != nil {
		return err
	}
	o, err := createOptions(c.http)
	if err != nil {
		return err
	}
	body, err := c.decodeSubresource(o)
	if err != nil {
		return err
	}
	if o.admitted, err = s.admitAct(c, o, body); err != nil {
		return err
	}
	if c.sub.Evicts != nil {
		return s.evict(c, o, body)
	}
	o.owned = true // an act, such as a binding, does not change the ownership of fields
	_, err = s.write(c, o, func(current kind.Object) (kind.Object, error) {
		next := current.DeepCopyObject().(kind.Object)
		return next, c.sub.Apply(next, body)
	})
	if err != nil {
		return err
	}
	c.answerDone(body)
	return nil
}

// answerDone writes the Status that answers an act.
func (c *call) answerDone(body runtime.Object) {
	c.spans.at(stageAnswer)
	c.sendWarnings()
	status := &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}
	if c.sub.Message != nil {
		status.Message = c.sub.Message(body)
	}
	writeStatus(c.w, c.http, status)
}

// pageNotFound is the 404 of a path that does not exist.
func pageNotFound(w http.ResponseWriter) { http.Error(w, "404 page not found", http.StatusNotFound) }
