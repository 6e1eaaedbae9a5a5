package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/object"
)

// Write is one write to a server, as its answer tells of it. What neither the request nor the answer says is empty.
type Write struct {
	Server      string // where it was made, as Client.Server says it
	Verb        string // create, update, patch, apply, delete or deletecollection
	Resource    schema.GroupVersionResource
	Namespace   string // empty for cluster-scoped resources, Namespaces among them
	Name        string // the server's choice for a create with generateName; empty for deletecollection
	Subresource string
	UID         types.UID
	Labels      map[string]string // of the object in the answer
	Revision    object.Revision   // of the object in the answer; 0 for unknown
	Deleting    bool              // the object in the answer is being deleted
	Gone        bool              // the write took the object away: it was deleted, or lost the last finalizer that held it
	Status      int               // the HTTP status; 0 when no answer came, and then the write may have happened or not
	Err         string            // why the write failed; empty when it did not
}

// Failed says that the server refused the write, or did not answer it.
func (w Write) Failed() bool { return w.Err != "" }

// Observe is ctx with an observer of the writes that are made with it, by a Client or by any client of a config that went
// through Observed. f is called for each answer to a write, before the call that made the write returns, in the goroutine
// that made it: when several write with one ctx, f may be called by several at once. A call that is repeated because its
// answer said so (429 with Retry-After) is answered several times. A dry run is no write, nor is a connection to a pod
// (exec, proxy). Observers that ctx has already are called too, before f.
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

// observer is the key of a context's observer, a func(Write).
type observer struct{}

func observerOf(ctx context.Context) func(Write) {
	f, _ := ctx.Value(observer{}).(func(Write))
	return f
}

// Observed is a copy of config whose clients tell the observers of Observe: those of client-go, typed or dynamic, and
// whatever else is made of a rest.Config. Calls whose context has no observer pass straight through.
func Observed(config *rest.Config) *rest.Config {
	own := rest.CopyConfig(config)
	observe(own)
	return own
}

func observe(config *rest.Config) {
	prefix, server := "", serverOf(config)
	if host, _, err := rest.DefaultServerURL(config.Host, "", schema.GroupVersion{}, false); err == nil {
		prefix = strings.TrimSuffix(host.Path, "/")
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &observing{next: next, prefix: prefix, server: server}
	})
}

// serverOf tells the server of a config from others: by its URL, and those of this process, which have none, by their transport.
func serverOf(config *rest.Config) string {
	name := config.Host
	if host, _, err := rest.DefaultServerUrlFor(config); err == nil {
		name = strings.TrimSuffix(host.String(), "/")
	}
	transport := config.Transport
	for {
		switch t := transport.(type) {
		case *Transport:
			return fmt.Sprintf("%s (%p)", name, t.requests)
		case interface{ WrappedRoundTripper() http.RoundTripper }:
			transport = t.WrappedRoundTripper()
		default:
			return name
		}
	}
}

// observing is a transport that tells of the writes that pass.
type observing struct {
	next   http.RoundTripper
	prefix string // of the server's own path, in front of /api and /apis
	server string
}

// WrappedRoundTripper is how client-go reaches the transport below, to close its idle connections.
func (o *observing) WrappedRoundTripper() http.RoundTripper { return o.next }

// RoundTrip answers as the transport below does. The body of a write's answer is read whole first.
func (o *observing) RoundTrip(q *http.Request) (*http.Response, error) {
	f := observerOf(q.Context())
	if f == nil {
		return o.next.RoundTrip(q)
	}
	write, ok := o.writeOf(q)
	if !ok {
		return o.next.RoundTrip(q)
	}
	// The observer that is nearest to the caller tells what the caller gets, and no other one does.
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

// writeOf reads what a request writes. It is false for a request that writes nothing that is kept.
func (o *observing) writeOf(q *http.Request) (Write, bool) {
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

// verbOf is Kubernetes' name for what a method does, and ours for a server-side apply.
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

// isConnection says that a subresource is a stream to somewhere else.
func isConnection(subresource string) bool {
	switch subresource {
	case "attach", "exec", "portforward", "proxy":
		return true
	}
	return false
}

// parsePath reads a path of the API: /api/VERSION/... or /apis/GROUP/VERSION/..., then namespaces/NAMESPACE where there is
// one, the resource, the name and the subresource. A namespace is itself such a resource.
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

// nameFromRequest takes the name of an object that was to be created from the request, of which its sender kept a copy.
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
