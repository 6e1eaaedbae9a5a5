package connect

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/server/request"
)

// flushInterval is how long a proxied answer is gathered before it is sent.
const flushInterval = 200 * time.Millisecond

// proxy forwards a request and its answer. It follows no redirect: a client that does comes back through the server.
func proxy(w http.ResponseWriter, r *http.Request, req *request.Request, to *target) error {
	at := to.url
	if at.Path == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		// The relative links of a page need the slash.
		back := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/") + "/", RawQuery: r.URL.RawQuery}
		w.Header().Set("Location", back.String())
		w.WriteHeader(http.StatusMovedPermanently)
		return nil
	}
	prefix := strings.TrimSuffix(r.URL.Path, req.Below)
	var failure error
	(&httputil.ReverseProxy{
		Transport: to.up.Transport, FlushInterval: flushInterval, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = &at, p.In.Host
			p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
			p.SetXForwarded()
			p.Out.Header.Set("X-Forwarded-Uri", joinPrefix(prefix, at.EscapedPath()))
			RemoveCredentials(p.Out.Header)
		},
		ModifyResponse: func(answer *http.Response) error {
			if code := answer.StatusCode; code < http.StatusOK && code != http.StatusSwitchingProtocols {
				return fmt.Errorf("invalid status code %d", code)
			}
			return rewriteLocation(answer, prefix, r.Host)
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			failure = apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", err))
		},
	}).ServeHTTP(w, r)
	return failure
}

// rewriteLocation makes a redirect to the same machine one to its path at this server, and leaves others alone.
func rewriteLocation(answer *http.Response, prefix, host string) error {
	text := answer.Header.Get("Location")
	if text == "" {
		return nil
	}
	to, err := url.Parse(text)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("error trying to parse Location header: %v", err))
	}
	sent := answer.Request.URL
	if to.Host != "" && to.Host != sent.Host && to.Host != host || !strings.HasPrefix(to.Path, "/") {
		return nil
	}
	to.Scheme, to.Host = "", ""
	if !strings.HasPrefix(to.Path, prefix) {
		to.Path, to.RawPath = joinPrefix(prefix, to.Path), ""
	}
	answer.Header.Set("Location", to.String())
	return nil
}

// joinPrefix joins paths, and keeps a trailing slash.
func joinPrefix(prefix, below string) string {
	joined := path.Join(prefix, below)
	if strings.HasSuffix(below, "/") && !strings.HasSuffix(joined, "/") {
		joined += "/"
	}
	return joined
}
