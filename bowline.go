package bowline

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/pki"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/plugins/webhook"
	"github.com/bowline-dev/bowline/internal/server"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/why"
	"github.com/bowline-dev/bowline/object"
)

// encodingBudget bounds what second encodings of objects (JSON beside protobuf) hold, in bytes.
const encodingBudget = 64 << 20

// Options say how a plane starts. The zero value works: in memory, in process, no socket, the life of a plane.
type Options struct {
	// Storage is where objects are kept, such as disk.Open makes it (package store/log/disk). A plane that is started again on
	// the same storage has the same objects. It is the plane's from then on, which closes it, even if it cannot start. Nil
	// keeps them in memory: they end with the plane.
	Storage log.Log
	// AcceptDamage starts the plane although some objects in its storage cannot be read. Those are not served: what asks for
	// one is told so, and it can be deleted. Without it Start fails, and names them.
	AcceptDamage bool
	// AsIs starts with what Storage has and nothing else: what every plane has from its start, the namespaces and the Service
	// kubernetes, is neither made nor corrected. So begins a fork.
	AsIs bool
	// ID is who the plane is, as the uid of the namespace kube-system: what clients take for the identity of a cluster,
	// and mark with it what they make elsewhere. A plane that is started again with the same ID knows its own. Empty means
	// a random one.
	ID string
	// Listen is the address of a TLS socket, such as 127.0.0.1:6443; port 0 takes any free one. Empty opens none: then
	// the plane is reached through RESTConfig, Source and Handler alone.
	Listen string
	// TLS is what the socket shows, and, in ClientCAs, whom it believes. Nil makes certificates in memory, which only
	// Plane.TLSConfig knows. Without Listen it is not used.
	TLS *tls.Config
	// Authority are the certificates, in PEM, of those who vouch for that of TLS: what the ConfigMap kube-root-ca.crt of each
	// namespace has. Without TLS it is not used.
	Authority []byte
	// Controllers are which of Controllers() run: names, -names and *, which is all. Nil is those of the life of a plane, without
	// which the API does not do what it says: they end namespaces, and give each its account and its ConfigMap of certificates,
	// collect what belonged to something that has gone, keep the claims that pods use, remove pods that nobody runs and Jobs whose
	// time is over, and count quotas. An empty slice is none.
	Controllers []string
	// Plugins are admission plugins beside those that every plane has; they are asked after those, and before webhooks. Each must
	// return when its context ends: a caller in process may wait for it.
	Plugins []admission.Plugin
	// TracerProvider makes the spans of requests: one for each, and below it one for each stage. Nil traces nothing, and costs
	// nothing. It is the caller's to shut down, after Close.
	TracerProvider trace.TracerProvider
	// Log takes what the plane has to say; nil discards it.
	Log *slog.Logger
}

// Plane is a running control plane: the API, its store and its controllers. Close it.
type Plane struct {
	options   Options // as it was started, for its forks
	store     *store.Store
	server    *server.Server
	handler   http.Handler
	transport *client.Transport
	log       *slog.Logger

	listener net.Listener
	socket   *https // what serves the listener; nil until then
	requests requests
	// drain is how long Close waits for requests in flight before it cuts them off.
	drain time.Duration
	keys  *pki.Keeper

	ctx    context.Context
	cancel context.CancelFunc
	// loops are the controllers, which end with ctx; sockets end with the HTTP server.
	loops, sockets sync.WaitGroup
	// ready is closed when the controllers' caches are filled; nil without controllers. queues is what they and their queues count.
	ready   <-chan struct{}
	queues  *controller.Metrics
	journal *why.Journal
	close   func() error
}

// admin is who RESTConfig and Source act as.
var admin = auth.NewUser(pki.AdminName, auth.AdminGroup)

// Start starts a control plane. It is ready when Start returns: requests are answered, and controllers watch. ctx
// bounds the start alone; the plane runs until Close.
func Start(ctx context.Context, o Options) (*Plane, error) {
	if o.Storage == nil {
		o.Storage = memory.New()
	}
	var err error
	if o.Controllers, err = choose(o.Controllers); err != nil {
		return nil, errors.Join(err, o.Storage.Close())
	}
	state, err := store.New(ctx, o.Storage, store.Options{AcceptDamage: o.AcceptDamage})
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	return begin(ctx, o, state, nil)
}

// begin starts a plane on a store, which is the plane's from then on. o.Controllers are names. like is the server of the plane
// that this one is a fork of, or nil.
func begin(ctx context.Context, o Options, state *store.Store, like *server.Server) (*Plane, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Plane{options: o, store: state, log: o.Log, drain: patience, queues: controller.NewMetrics()}
	p.journal = why.New(why.Options{Log: o.Log})
	p.close = sync.OnceValue(p.shutdown)
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := p.start(ctx, like); err != nil {
		p.Close()
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	return p, nil
}

func (p *Plane) start(ctx context.Context, like *server.Server) (err error) {
	o := p.options
	authenticators := []auth.Authenticator{auth.InProcess()}
	if o.Listen != "" {
		roots, err := p.listen(ctx, o)
		if err != nil {
			return err
		}
		authenticators = append(authenticators, auth.ClientCertificates(roots))
	}
	webhooks, asked := webhook.Plugins(p.ctx, o.Log)
	_, inMemory := o.Storage.(*memory.Log)
	p.server, err = server.New(ctx, server.Options{
		Store:          p.store,
		Kinds:          kind.NewRegistry(builtin.Kinds(object.NewCache(encodingBudget))...),
		Authenticator:  auth.FirstOf(append(authenticators, auth.Anonymous())...),
		Authorizer:     auth.Union(auth.Admins(), auth.PublicPaths()),
		Plugins:        slices.Concat(admission.Defaults(), o.Plugins, []admission.Plugin{&admission.Initializers{}}, webhooks),
		Initial:        p.initial(),
		KeepStored:     o.AsIs,
		Like:           like,
		Checks:         p.checks(o.Storage),
		Prompt:         inMemory,
		Why:            p.journal,
		Collectors:     []prometheus.Collector{p.queues, asked},
		TracerProvider: o.TracerProvider,
		Log:            o.Log,
	})
	if err != nil {
		return err
	}
	p.handler = p.server.Handler()
	p.transport = client.NewTransport(p.handler)
	if err := p.run(ctx, o.Controllers); err != nil {
		return err
	}
	if p.listener != nil {
		p.serve(o.TLS)
	}
	return nil
}

// checks are what the plane's health means beside what the server knows of itself.
func (p *Plane) checks(storage log.Log) []server.Check {
	checks := []server.Check{{Name: "controllers", Ready: true, Check: p.controlling}}
	if s, ok := storage.(interface{ Health() error }); ok { // which a disk may lose and find again
		checks = append(checks, server.Check{Name: "storage", Ready: true, Check: func(context.Context) error { return s.Health() }})
	}
	return checks
}

// initial are the objects that the plane has from its start.
func (p *Plane) initial() []kind.Initial {
	if p.options.AsIs {
		return nil
	}
	return builtin.Initial(types.UID(p.options.ID), p.reachedAt())
}

// listen opens the socket, and returns whose client certificates are believed. It is served once all else is ready.
func (p *Plane) listen(ctx context.Context, o Options) (*x509.CertPool, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	p.listener = newCrowd(listener, roomForConnections(), p.log)
	if o.TLS != nil {
		if o.TLS.ClientCAs == nil {
			return nil, errors.New("Options.TLS has no ClientCAs: nobody could authenticate")
		}
		return o.TLS.ClientCAs, nil
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, err
	}
	if p.keys, err = pki.New(pki.Hosts(host)); err != nil {
		return nil, err
	}
	return p.keys.Roots(), nil
}

// serve answers on the socket until Close.
func (p *Plane) serve(config *tls.Config) {
	if config == nil {
		config = p.keys.ServerConfig()
	}
	p.socket = newHTTPS(p.listener, config, &counted{&p.requests, p.handler}, p.log)
	p.sockets.Go(func() {
		if err := p.socket.serve(); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("the socket failed; nobody can connect any longer", "address", p.Addr(), "error", err)
		}
	})
}

// Addr is the host and port of the socket, or empty when there is none.
func (p *Plane) Addr() string {
	if p.listener == nil {
		return ""
	}
	return p.listener.Addr().String()
}

// Handler is the API as an http.Handler. A request that is given to it directly carries its sender in its context, put
// there by auth.WithUser; without one it is nobody's.
func (p *Plane) Handler() http.Handler { return p.handler }

// RESTConfig is for an unmodified client-go in this process: it acts as the administrator, over the in-process
// transport, with no rate limit. It works until Close.
func (p *Plane) RESTConfig() *rest.Config { return p.transport.As(asAdmin).RESTConfig() }

func asAdmin(ctx context.Context) context.Context { return auth.WithUser(ctx, admin) }

// errNoKeys is returned by a plane that did not make its certificates itself.
var errNoKeys = errors.New("the plane has no certificates of its own: it has no socket, or was given Options.TLS")

// TLSConfig is for an unmodified client-go over the plane's socket, as the administrator, with no rate limit. It is an
// error unless the plane listens with certificates that it made itself.
func (p *Plane) TLSConfig() (*rest.Config, error) {
	if p.keys == nil {
		return nil, errNoKeys
	}
	return clientConfig(p.Addr(), p.keys.AuthorityPEM(), p.keys.Admin())
}

func clientConfig(addr string, authority []byte, pair *pki.Pair) (*rest.Config, error) {
	key, err := pair.KeyPEM()
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            "https://" + addr,
		TLSClientConfig: rest.TLSClientConfig{CAData: authority, CertData: pair.CertPEM(), KeyData: key},
		QPS:             -1,
		// The server is on this machine: making answers smaller costs more than sending them.
		DisableCompression: true,
	}, nil
}

// IssueClient makes a rest.Config, as TLSConfig does, for another user and their groups.
func (p *Plane) IssueClient(name string, groups ...string) (*rest.Config, error) {
	if p.keys == nil {
		return nil, errNoKeys
	}
	pair, err := p.keys.IssueClient(name, groups...)
	if err != nil {
		return nil, err
	}
	return clientConfig(p.Addr(), p.keys.AuthorityPEM(), pair)
}

// Source is where informers of this process list and watch, as the administrator: they share the server's objects.
func (p *Plane) Source() client.Source { return p.server.Source(admin) }

// Journal is why the controllers of the plane did what they did, as bowline why prints it. Controllers in this process keep
// theirs in it when they are given it (controller.ManagerOptions.Journal); those of other processes tell it over the wire.
func (p *Plane) Journal() *why.Journal { return p.journal }
