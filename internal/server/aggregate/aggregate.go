// Package aggregate makes the group versions of other API servers part of this one, as kube-aggregator does. An
// APIService names the Service of such a server. The package forwards the requests for its group version to an endpoint
// of the Service, with the user in headers; a client certificate of the front proxy's authority proves that they come
// from here. It asks each server regularly for its resources, writes into the condition Available whether the server
// answers, and lists the resources in the documents of discovery and OpenAPI. It also keeps an APIService for each
// group version that this server serves itself.
//
// One goroutine follows the APIServices, Services and EndpointSlices; each aggregated server has a goroutine that asks
// it. A server that hangs or lies affects its own group version only: its answers are bounded in size and time, and so
// is the number of requests that wait for it.
package aggregate

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/discovery"
	"github.com/bowline-dev/bowline/internal/server/openapi"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/server/tasks"
)

// Options configure an Aggregator. All are required except FrontProxy, Dial and LeaveLocal.
type Options struct {
	Kinds  *kind.Registry
	Reader *stored.Reader
	Tasks  *tasks.Group
	Log    *slog.Logger
	// FrontProxy has the client certificate that proves to other servers that a request comes from this one.
	FrontProxy *tls.Config
	// Dial opens the connections to other servers; nil means a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout is how long another server may take to answer a request to open a stream.
	Timeout time.Duration
	// Ensure and Withdraw write and delete objects of this server, as those of write.Writer.
	Ensure   func(context.Context, kind.Initial) (existed bool, err error)
	Withdraw func(ctx context.Context, i kind.Initial, obsolete func(stored kind.Object) bool) error
	// LeaveLocal is set if the APIServices of this server's own group versions are not to be repaired.
	LeaveLocal bool
}

// Aggregator follows the APIServices of one server. Start is called before its other methods, which may be called
// concurrently.
type Aggregator struct {
	o           Options
	apiServices client.Resource[*apiregistrationv1.APIService]
	// table has the aggregated servers by the group version that they serve.
	table atomic.Pointer[map[schema.GroupVersion]*Backend]

	publishing sync.Mutex // serializes publish
	remotes    atomic.Pointer[discovery.Remotes]
	documents  atomic.Pointer[openapi.Remotes]

	local sync.Mutex // serializes the writes of the APIServices of this server's own group versions
	// kept are the names of those that need not be created. local guards it.
	kept map[string]bool

	// backends are those of the table by the names of their APIServices. Only the goroutine that follows the
	// APIServices uses them.
	backends map[string]*Backend
}

// New returns an Aggregator that knows no other server before Start.
func New(o Options) *Aggregator {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	if o.FrontProxy == nil {
		o.FrontProxy = &tls.Config{}
	}
	a := &Aggregator{o: o, kept: map[string]bool{}, backends: map[string]*Backend{}}
	a.table.Store(&map[schema.GroupVersion]*Backend{})
	a.remotes.Store(&discovery.Remotes{})
	a.documents.Store(&openapi.Remotes{})
	return a
}

// dialTimeout is how long a connection to another server may take to open.
const dialTimeout = 5 * time.Second

// task is the name of the goroutines that follow and ask other servers among the tasks of the server.
const task = "aggregated API servers"

// Start reads the APIServices and follows them until the tasks of the server are canceled. config is that of a client
// of this server, who may write APIServices.
func (a *Aggregator) Start(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	a.apiServices = client.Of[*apiregistrationv1.APIService](c, resource)
	all, err := a.list(ctx)
	if err != nil {
		return err
	}
	for name, s := range all {
		if isManaged(s) {
			a.kept[name] = true
		}
	}
	a.updateBackends(ctx, all)
	if a.o.Tasks.Begin(task) {
		go func() {
			defer a.o.Tasks.Done(task)
			a.follow(a.o.Tasks.Context())
		}()
	}
	return nil
}

// Find returns the server to which requests for a path are forwarded; nil for this one. The path is below that of a
// group version, or that of its OpenAPI document.
func (a *Aggregator) Find(path string) *Backend {
	table := *a.table.Load()
	if len(table) == 0 {
		return nil
	}
	rest, found := strings.CutPrefix(strings.TrimPrefix(path, "/openapi/v3"), "/apis/")
	if !found {
		return nil
	}
	group, rest, _ := strings.Cut(rest, "/")
	version, _, _ := strings.Cut(rest, "/")
	return table[schema.GroupVersion{Group: group, Version: version}]
}

// Remotes returns what other servers serve now, for discovery documents.
func (a *Aggregator) Remotes() *discovery.Remotes { return a.remotes.Load() }

// Documents returns the OpenAPI documents of other servers.
func (a *Aggregator) Documents() *openapi.Remotes { return a.documents.Load() }
