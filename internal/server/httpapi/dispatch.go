package httpapi

import (
	"context"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/status"
)

// serveResource finds the kind, makes the typed request, runs the verb's function and answers with its result.
func (h *Handler) serveResource(x *exchange, w http.ResponseWriter, user *auth.User) {
	route := &x.route
	entry, ok := h.o.Kinds.Find(route.GVR)
	if !ok {
		h.unknownResource(x, w)
		return
	}
	if outlivesClient(route) {
		// The work after the commit is finished even if the client disconnects.
		x.r = x.r.WithContext(context.WithoutCancel(x.r.Context()))
	}
	req := request.New(x.r.Context(), route, entry, user)
	req.Body, req.Seats, req.Spans, req.Authorizer = x, x, x.spans, h.o.Authorizer
	req.UserAgent, req.ContentType = x.r.UserAgent(), request.BodyMedia(x.r.Header.Get("Content-Type"))
	if x.r.URL.RawQuery != "" {
		req.Query = x.r.URL.Query()
	}
	if err := allowed(req, x.r.Method); err != nil {
		h.fail(x, w, err)
		return
	}
	if warning := entry.Endpoint.Deprecated; warning != "" {
		req.Warn(warning)
	}
	if req.Verb == "watch" && req.Info.Computed {
		sendWarnings(w, req.Warnings)
		h.fail(x, w, apierrors.NewMethodNotSupported(req.Resource(), "watch"))
		return
	}
	if req.Sub != nil && req.Sub.Connect != nil {
		if err := h.o.Connect.Serve(x, x.r, req); err != nil {
			sendWarnings(w, req.Warnings)
			h.fail(x, w, err)
		}
		return
	}
	answer, warnings, err := h.answer(x, w, req)
	switch {
	case err != nil:
		sendWarnings(w, warnings)
		h.fail(x, w, err)
	case answer.Code != 0:
		sendWarnings(w, warnings)
		send(w, answer)
	}
}

// unknownResource answers with a 404: a Status, or the plain page if the group does not exist either, as
// Kubernetes does.
func (h *Handler) unknownResource(x *exchange, w http.ResponseWriter) {
	gr := x.route.GVR.GroupResource()
	err := h.o.Undefined(gr)
	if err == nil && !h.servesGroup(gr.Group) {
		pageNotFound(w)
		return
	}
	if err == nil {
		err = status.NoResource()
	}
	h.fail(x, w, err)
}

// allowed checks that the path is valid for the kind's scope, and that the resource or subresource supports the verb.
// It sets req.Sub. Only the paths of namespaced objects have a namespace; that of a Namespace has its name there.
// Without a namespace, custom resources can only be listed and watched; for other kinds, Kubernetes' router knows the
// path and rejects the method.
func allowed(req *request.Request, method string) error {
	info := req.Info
	if req.Subresource != "" {
		if req.Sub = info.Subresource(req.Subresource); req.Sub == nil ||
			!req.Sub.ServedIn(req.GVR.GroupVersion()) || req.HasBelow() && !isProxy(req.Sub) {
			if !info.Builtin { // Kubernetes looks for the object of a custom resource first
				return status.NotFound(req.Resource(), req.Name)
			}
			return status.NoResource()
		}
	}
	reads := req.Verb == "list" || req.Verb == "watch"
	inScope := req.Namespace == "" || req.GVR.Group == "" && req.GVR.Resource == "namespaces"
	if info.Namespaced {
		inScope = req.Namespace != "" || req.Name == "" && (reads || info.Builtin)
	}
	if !inScope || !hasPath(req) {
		return status.NoResource()
	}
	served := info.HasVerb(req.Verb)
	switch {
	case req.Verb == "watch" && method == http.MethodGet && info.Computed:
		served = true // Kubernetes' router knows the path, for lists: serveResource rejects the watch
	case req.Verb == "watch" && method != http.MethodGet:
		served = false
	case req.Sub != nil && isProxy(req.Sub): // every method that HTTP clients use
		served = slices.Contains(req.Sub.Verbs, req.Verb) || method == http.MethodOptions
	case method == http.MethodHead && info.Builtin:
		served = false // Kubernetes' router does not support HEAD; custom resources do not use it
	case req.Sub != nil:
		served = slices.Contains(req.Sub.Verbs, req.Verb)
	case info.Namespaced && req.Namespace == "" && !reads:
		served = false
	case req.Name == "" && !reads && req.Verb != "deletecollection" && req.Verb != "create",
		req.Name != "" && req.Verb == "create":
		served = false
	}
	if !served {
		return status.MethodNotAllowed()
	}
	return nil
}

// hasPath reports whether Kubernetes' router knows the path of a resource for any method: a built-in kind that is only
// created has no path for objects, and none for all namespaces.
func hasPath(req *request.Request) bool {
	info := req.Info
	if !info.Builtin || req.Sub != nil || !slices.Equal(info.ServedVerbs(), []string{"create"}) {
		return true
	}
	return req.Name == "" && (!info.Namespaced || req.Namespace != "")
}

// isProxy reports whether a subresource forwards requests of every method, for any path.
func isProxy(sub *kind.Subresource) bool { return sub.Connect != nil && sub.Connect.Proxy }

// run negotiates the form of the answer and calls the function of the verb. The result is nil for a watch, which has
// been answered.
func (h *Handler) run(x *exchange, w http.ResponseWriter, req *request.Request) (*request.Result, error) {
	forms := []string{request.AsTable, request.AsPartial}
	if req.Verb == "list" || req.Verb == "deletecollection" {
		forms[1] = request.AsPartialList
	}
	acts := req.Verb == "create" && req.Sub != nil
	if acts {
		forms = nil // the answer is a Status
	}
	if err := req.Negotiate(x.r.Header.Get("Accept"), forms...); err != nil {
		return nil, err
	}
	switch req.Verb {
	case "get":
		return h.o.Read.Get(req)
	case "list":
		return h.o.Read.List(req)
	case "watch":
		return nil, h.watch(x, w, req)
	case "create":
		if acts {
			return h.o.Write.Act(req)
		}
		return h.o.Write.Create(req)
	case "update":
		return h.o.Write.Update(req)
	case "patch":
		return h.o.Write.Patch(req)
	case "delete":
		return h.o.Write.Delete(req)
	case "deletecollection":
		return h.o.Write.DeleteCollection(req)
	}
	return nil, status.MethodNotAllowed()
}
