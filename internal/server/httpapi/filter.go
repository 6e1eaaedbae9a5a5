package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/server/operations"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/tasks"
)

// serve runs a request through authentication, impersonation, authorization, its deadline, the fair queue and dispatch,
// with compression and indentation of the answer as the client asks for.
func (h *Handler) serve(x *exchange) {
	user, err := h.identify(x.r)
	if h.o.Tracer != nil {
		x.spans = h.trace(x, user)
	}
	if err != nil {
		h.fail(x, x, err)
		return
	}
	sendWarnings(x, user.Warnings)
	x.spans.At(stage.Authorize)
	if user, err = h.impersonate(x, user); err != nil {
		h.fail(x, x, err)
		return
	}
	if err := request.Authorize(x.r.Context(), h.o.Authorizer, &x.route, user); err != nil {
		h.fail(x, x, err)
		return
	}
	ctx := auth.WithUser(x.spans.Context(x.r.Context()), user)
	other := h.o.Aggregate.Find(x.route.Path)
	connects := h.connects(&x.route) || other != nil && (lasts(&x.route) || httpstream.IsUpgradeRequest(x.r))
	switch {
	case connects: // the other end may answer for as long as both wish, and reads the body
	case x.route.Verb != "watch" && (x.route.IsResource || x.route.Path != operations.BackupPath):
		bounded, cancel, err := h.withDeadline(ctx, x.r)
		if err != nil {
			h.fail(x, x, err)
			return
		}
		defer cancel()
		x.bounded = bounded
		defer tasks.OnDone(bounded, x.endTransfer)()
		ctx = bounded
	default:
		// Until it has read the body, net/http does not detect that the client disconnects.
		if err := x.discardBody(maxDiscard, answerGrace); err != nil {
			h.fail(x, x, apierrors.NewBadRequest(err.Error()))
			return
		}
	}
	x.r = x.r.WithContext(ctx)
	if err := h.enter(x, user); err != nil {
		h.fail(x, x, err)
		return
	}
	defer x.left()
	defer x.seats.Leave()
	x.spans.At(stage.Route)
	if other != nil {
		x.seats.Leave() // a server that hangs holds no seats of this one
		if err := other.Serve(x, x.r); err != nil {
			h.fail(x, x, err)
		}
		return
	}
	var w http.ResponseWriter = x
	if x.route.Verb != "watch" && !connects && acceptsGzip(x.r) {
		zip := &gzipWriter{ResponseWriter: w, pool: &h.gzips}
		defer zip.finish()
		w = zip
	}
	if !connects && wantsPretty(x.r, &x.route) {
		pretty := &prettyWriter{ResponseWriter: w}
		defer pretty.finish()
		w = pretty
	}
	if !x.route.IsResource {
		x.spans.At(stage.Answer)
		h.servePath(w, x.r)
		return
	}
	h.serveResource(x, w, user)
}

// lasts reports whether a request to another API server may last: a watch, or one of the subresources that are streams
// or proxies in Kubernetes.
func lasts(route *request.Route) bool {
	switch route.Subresource {
	case "attach", "exec", "log", "portforward", "proxy":
		return true
	}
	return route.Verb == "watch"
}

// connects reports whether another machine answers the request (kind.Subresource.Connect).
func (h *Handler) connects(route *request.Route) bool {
	if route.Subresource == "" {
		return false
	}
	entry, ok := h.o.Kinds.Find(route.GVR)
	return ok && entry.Kind.Info().Connects(route.Subresource) != nil
}

// identify authenticates a request.
func (h *Handler) identify(r *http.Request) (*auth.User, error) {
	user, ok, err := h.o.Authenticator.Authenticate(r)
	if err != nil {
		h.o.Log.Info("a request was not authenticated", "path", r.URL.Path, "error", err)
	}
	if err != nil || !ok {
		return nil, apierrors.NewUnauthorized("Unauthorized")
	}
	return user, nil
}

// withDeadline gives a request its deadline: the server's timeout, or a shorter one from ?timeout=.
func (h *Handler) withDeadline(ctx context.Context, r *http.Request) (context.Context, context.CancelFunc, error) {
	limit := h.o.Timeout
	if r.URL.RawQuery != "" {
		if text := r.URL.Query().Get("timeout"); text != "" {
			requested, err := time.ParseDuration(text)
			switch {
			case err != nil:
				return nil, nil,
					apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %v", err))
			case requested > 0 && requested < limit:
				limit = requested
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, cancel, nil
}
