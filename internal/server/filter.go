package server

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/auth"
)

// recover answers with a 500 if the request panicked, so that the process survives. It must be deferred.
func (s *Server) recover(x *exchange, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	s.log.Error("a request panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack",
		string(debug.Stack()))
	s.writeError(x, r, fmt.Errorf("this request panicked in the server: %v", p))
}

// serve runs a request through authentication, authorization, its deadline, the fair queue, and dispatch.
func (s *Server) serve(x *exchange, r *http.Request) {
	user, err := s.identify(r)
	x.spans = s.trace(x, r, user)
	if err != nil {
		s.fail(x, x, r, err)
		return
	}
	x.spans.at(stageAuthorize)
	if err := s.authorize(r.Context(), x.route, user); err != nil {
		s.fail(x, x, r, err)
		return
	}
	ctx := auth.WithUser(x.spans.context(r.Context()), user)
	if !x.route.lasts() {
		bounded, cancel, err := s.bounded(ctx, r)
		if err != nil {
			s.fail(x, x, r, err)
			return
		}
		defer cancel()
		defer whenOver(bounded, x.cutOff)()
		ctx = bounded
	}
	r = r.WithContext(ctx)
	if err := s.enter(x, r, user); err != nil {
		s.fail(x, x, r, err)
		return
	}
	defer x.leave()
	s.dispatch(x, r, user)
}

// dispatch serves API resources and other paths, with compression and indentation as the client asks for.
func (s *Server) dispatch(x *exchange, r *http.Request, user *auth.User) {
	x.spans.at(stageRoute)
	var w http.ResponseWriter = x
	if x.route.verb != "watch" && takesGzip(r) {
		zip := &gzipWriter{ResponseWriter: w, pool: &s.gzips}
		defer zip.finish()
		w = zip
	}
	if wantsPretty(r, &x.route) {
		pretty := &prettyWriter{ResponseWriter: w}
		defer pretty.finish()
		w = pretty
	}
	if !x.route.resource {
		x.spans.at(stageAnswer)
		s.servePath(w, r)
		return
	}
	if err := s.serveResource(x, w, r, user); err != nil {
		s.fail(x, w, r, err)
	}
}

// fail answers with an error.
func (s *Server) fail(x *exchange, w http.ResponseWriter, r *http.Request, err error) {
	x.spans.at(stageAnswer)
	s.writeError(w, r, err)
}

// identify authenticates a request. Impersonation is not supported: a request with its headers is refused
// rather than run as the sender.
func (s *Server) identify(r *http.Request) (*auth.User, error) {
	user, ok, err := s.authenticator.Authenticate(r)
	if err != nil {
		s.log.Info("a request was not authenticated", "path", r.URL.Path, "error", err)
	}
	if err != nil || !ok {
		return nil, apierrors.NewUnauthorized("Unauthorized")
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "Impersonate-") {
			return nil, generic(http.StatusForbidden, metav1.StatusReasonForbidden,
				"forbidden: User \""+user.Name+"\" asks to act as another user ("+name+
					"), which this server does not serve; send the request without Impersonate-* headers")
		}
	}
	return user, nil
}

func (s *Server) authorize(ctx context.Context, target route, user *auth.User) error {
	attributes := target.attributes(user)
	decision, reason, err := s.authorizer.Authorize(ctx, attributes)
	if err != nil {
		return err
	}
	if decision != auth.Allow {
		return auth.Forbidden(attributes, reason)
	}
	return nil
}

// bounded gives a request its deadline: the server's timeout, or a shorter one from ?timeout=.
func (s *Server) bounded(ctx context.Context, r *http.Request) (context.Context, context.CancelFunc, error) {
	limit := s.timeout
	if text := r.URL.Query().Get("timeout"); text != "" {
		asked, err := time.ParseDuration(text)
		switch {
		case err != nil:
			return nil, nil,
				apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %v", err))
		case asked > 0 && asked < limit:
			limit = asked
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, cancel, nil
}
