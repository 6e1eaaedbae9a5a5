package client

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/inprocess"
	"github.com/bowline-dev/bowline/internal/object"
)

// Write describes one write to a server and its outcome. A field that neither the request nor the response
// determines is empty.
type Write struct {
	Server      string                      // as Client.Server returns it
	Verb        string                      // create, update, patch, apply, delete or deletecollection
	Resource    schema.GroupVersionResource // of the request
	Namespace   string                      // empty for cluster-scoped resources, such as Namespaces
	Name        string                      // also if the server generated it; empty for deletecollection
	Subresource string                      // status, scale or another; empty for the object itself
	UID         types.UID                   // of the object in the response
	Labels      map[string]string           // of the object in the response
	Revision    object.Revision             // of the object in the response; 0 if unknown
	Deleting    bool                        // the object in the response has a deletion timestamp
	Gone        bool                        // the write removed the object, or its last finalizer
	// Status is the HTTP status; 0 if no response arrived, in which case the server may have executed the write or not.
	Status int
	Err    string // the error of the write; empty if it succeeded
}

// Failed reports whether the server rejected the write or the response could not be read.
func (w Write) Failed() bool { return w.Err != "" }

// Observe returns a context that reports to f the writes that are made with it, by a Client or by a client of a config
// that Observed returned. f is called after every attempt of a write, in the goroutine of the write and before the
// write returns; concurrent writes call it concurrently. A write that is retried because of its response (429 with
// Retry-After) has several attempts. Dry runs and connections to a pod (exec, proxy) are not reported. Observers that
// ctx already has are called before f. Package controller uses Observe to find out what a reconciler wrote.
func Observe(ctx context.Context, f func(Write)) context.Context {
	if outer := observerOf(ctx); outer != nil {
		inner := f
		f = func(w Write) {
			outer(w)
			inner(w)
		}
	}
	return context.WithValue(ctx, observer{}, f)
}

// observer is the context key of a func(Write).
type observer struct{}

func observerOf(ctx context.Context) func(Write) {
	f, _ := ctx.Value(observer{}).(func(Write))
	return f
}

// Observed returns a copy of config for clients of client-go, such as the typed and the dynamic one. They report a
// write to the observer of its context (see Observe). Requests whose context has no observer are not affected. Client
// needs no Observed config.
func Observed(config *rest.Config) *rest.Config {
	copied := rest.CopyConfig(config)
	observe(copied)
	return copied
}

func observe(config *rest.Config) {
	prefix, server := "", serverOf(config)
	if host, _, err := rest.DefaultServerURL(config.Host, "", schema.GroupVersion{}, false); err == nil {
		prefix = strings.TrimSuffix(host.Path, "/")
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &observingTransport{next: next, prefix: prefix, server: server}
	})
}

// serverOf returns the value of Client.Server for a config: the URL and, for in-process servers, which share one, a
// name of the transport.
func serverOf(config *rest.Config) string {
	name := config.Host
	if host, _, err := rest.DefaultServerUrlFor(config); err == nil {
		name = strings.TrimSuffix(host.String(), "/")
	}
	transport := config.Transport
	for {
		switch t := transport.(type) {
		case *inprocess.Transport:
			return name + " (" + t.Server() + ")"
		case interface{ WrappedRoundTripper() http.RoundTripper }:
			transport = t.WrappedRoundTripper()
		default:
			return name
		}
	}
}

// observingTransport reports the writes that it sends to the observers of their contexts.
type observingTransport struct {
	next   http.RoundTripper
	prefix string // path of the server's URL, before /api and /apis
	server string
}

// WrappedRoundTripper lets client-go reach the transport below, to close its idle connections.
func (o *observingTransport) WrappedRoundTripper() http.RoundTripper { return o.next }

// RoundTrip sends q and reports it if it is a write. It reads the body of a write's response completely
// before it returns.
func (o *observingTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	f := observerOf(q.Context())
	if f == nil {
		return o.next.RoundTrip(q)
	}
	write, ok := o.writeOf(q)
	if !ok {
		return o.next.RoundTrip(q)
	}
	// Only the outermost transport reports, because its answer is the one that the caller receives.
	answer, err := o.next.RoundTrip(q.WithContext(context.WithValue(q.Context(), observer{}, nil)))
	if err != nil {
		write.Err = err.Error()
		write.nameFromRequest(q)
	} else {
		write.readAnswer(q, answer)
	}
	f(write)
	return answer, err
}

// writeOf returns the write that a request makes. It returns false if the request stores nothing.
func (o *observingTransport) writeOf(q *http.Request) (Write, bool) {
	if q.Method == http.MethodGet || q.Method == http.MethodHead || q.Method == http.MethodOptions {
		return Write{}, false
	}
	path, ok := strings.CutPrefix(q.URL.Path, o.prefix)
	if !ok || slices.Contains(q.URL.Query()["dryRun"], "All") {
		return Write{}, false
	}
	write, ok := parsePath(path)
	if !ok || isConnection(write.Subresource) {
		return Write{}, false
	}
	write.Server, write.Verb = o.server, verbOf(q, write.Name)
	return write, write.Verb != ""
}

// verbOf returns the Kubernetes verb of a request, or "apply" for a server-side apply.
func verbOf(q *http.Request, name string) string {
	switch q.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		if strings.HasPrefix(q.Header.Get("Content-Type"), "application/apply-patch+") {
			return "apply"
		}
		return "patch"
	case http.MethodDelete:
		if name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return ""
}

// isConnection reports whether a subresource opens a connection to a pod, service or node.
func isConnection(subresource string) bool {
	switch subresource {
	case "attach", "exec", "portforward", "proxy":
		return true
	}
	return false
}

// parsePath parses an API path: /api/VERSION/... or /apis/GROUP/VERSION/..., then optionally
// namespaces/NAMESPACE, and the resource, name and subresource. A namespace is itself a resource at
// namespaces/NAME.
func parsePath(path string) (Write, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var w Write
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		w.Resource.Version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		w.Resource.Group, w.Resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return w, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		w.Namespace, parts = parts[1], parts[2:]
	}
	w.Resource.Resource = parts[0]
	if len(parts) > 1 {
		w.Name = parts[1]
	}
	if len(parts) > 2 {
		w.Subresource = parts[2]
	}
	return w, true
}

// nameFromRequest sets the name of a created object from the request body.
func (w *Write) nameFromRequest(q *http.Request) {
	if w.Verb != "create" || w.Name != "" || q.GetBody == nil {
		return
	}
	if body, err := q.GetBody(); err == nil {
		defer body.Close()
		if data, err := io.ReadAll(body); err == nil {
			w.Name = readFacts(q.Header.Get("Content-Type"), data).Metadata.Name
		}
	}
}
