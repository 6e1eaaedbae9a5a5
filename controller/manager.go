package controller

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller/why"
	"github.com/bowline-dev/bowline/informer"
)

// Manager runs controllers that share a client, informers and event recorders. Add everything, from one goroutine,
// then call Run once. Client, Informers and the other methods that return what the manager has already are safe for
// concurrent use.
type Manager struct {
	client      *client.Client
	informers   *informer.Factory
	others      []*informer.Factory
	log         *slog.Logger
	controllers []*Controller
	options     ManagerOptions
	lease       *lease // nil without an election
	recorders   []*Recorder
	journal     *why.Journal
	forwarder   *forwarder // nil if runs are not forwarded
	traces      trace.TracerProvider
	ready       chan struct{}
}

// ManagerOptions configure a Manager. The zero value works: informers over the network, without resyncs.
type ManagerOptions struct {
	// Source is where informers list and watch; nil means over config's connection. In the server's process,
	// pass the server's Source to share its objects.
	Source client.Source
	// Resync is how often every object is reconciled even if it did not change; 0 means never.
	Resync time.Duration
	// Transform modifies each object before it is cached, for example to drop fields: see
	// informer.FactoryOptions.
	Transform func(client.Object) (client.Object, error)
	// Mutations detects modifications of cached objects in tests; see informer.DetectMutations.
	Mutations *informer.Mutations
	// Metrics record what the controllers and their queues do; nil records nothing.
	Metrics *Metrics
	// Namespaces restricts the objects that ObjectsOf caches; none means all namespaces.
	Namespaces []string
	// LeaderElection makes one of several processes work at a time; nil makes this process work at once.
	LeaderElection *LeaderElection
	// HealthAddress is where Health is served, such as ":8081"; empty means nowhere.
	HealthAddress string
	// StopTimeout is the default of the controllers' Options.StopTimeout.
	StopTimeout time.Duration
	// Journal records the runs of the controllers and their causes; nil means one private to the manager. In
	// the server's process, pass the server's journal so that the server can show the runs.
	Journal *why.Journal
	// Authority is the PEM bundle that the method Authority returns. Nil means the CA certificates of config.
	Authority []byte
	// Forward is a path of the server, such as why.Path, to which the manager sends completed runs, best
	// effort. A server that never had the path is not asked again. Empty means that runs are not forwarded.
	Forward string
	// TracerProvider traces each run of a reconciler as a span; nil disables tracing.
	TracerProvider trace.TracerProvider
	// Log is nil for slog.Default.
	Log *slog.Logger
}

// NewManager returns a manager of controllers that use the server of config. It fails if the config is
// invalid; it sends no request.
func NewManager(config *rest.Config, options ManagerOptions) (*Manager, error) {
	c, err := client.New(config)
	if err != nil {
		return nil, err
	}
	if options.Authority == nil {
		if options.Authority, err = authorityOf(config); err != nil {
			return nil, err
		}
	}
	if options.Source == nil {
		options.Source = client.NewSource(c)
	}
	if options.Log == nil {
		options.Log = slog.Default()
	}
	if options.Journal == nil {
		options.Journal = why.New(why.Options{Log: options.Log})
	}
	lease, err := newLease(config, options.LeaderElection, options.Log)
	if err != nil {
		return nil, err
	}
	return &Manager{
		client:  c,
		options: options,
		lease:   lease,
		informers: informer.NewFactory(options.Source, informer.FactoryOptions{
			Server:    c.Server(),
			Resync:    options.Resync,
			Transform: options.Transform,
			Mutations: options.Mutations,
			Log:       options.Log,
		}),
		journal:   options.Journal,
		forwarder: newForwarder(c, options.Forward, options.Journal, options.Log),
		traces:    options.TracerProvider,
		log:       options.Log,
		ready:     make(chan struct{}),
	}, nil
}

// Client returns a client for writing, and for reading what is not cached.
func (m *Manager) Client() *client.Client { return m.client }

// Authority returns the PEM bundle that clients verify the server with, for controllers that publish it. It
// is empty if none is configured.
func (m *Manager) Authority() []byte { return m.options.Authority }

// authorityOf returns the CA certificates of a config.
func authorityOf(config *rest.Config) ([]byte, error) {
	if len(config.CAData) > 0 || config.CAFile == "" {
		return config.CAData, nil
	}
	data, err := os.ReadFile(config.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the server's certificate authorities: %w", err)
	}
	return data, nil
}

// Informers returns the factory that all controllers share: informer.For(m.Informers(), resource) returns an
// informer.
func (m *Manager) Informers() *informer.Factory { return m.informers }

// NewInformers returns another factory that the manager runs, for informers with other options than the
// shared ones, such as lazy ones. The manager sets Server, Mutations and Log. Call it before Run.
func (m *Manager) NewInformers(options informer.FactoryOptions) *informer.Factory {
	options.Server, options.Mutations, options.Log = m.client.Server(), m.options.Mutations, m.log
	f := informer.NewFactory(m.options.Source, options)
	m.others = append(m.others, f)
	return f
}

// Recorder returns a new recorder of events for a component, which the manager runs. It must be called before Run.
func (m *Manager) Recorder(component string) *Recorder {
	r := newRecorder(m.client, component, m.log)
	m.recorders = append(m.recorders, r)
	return r
}

// Journal returns the journal of the controllers' runs.
func (m *Manager) Journal() *why.Journal { return m.journal }

// Add adds a controller, which the manager runs. Options that are not set default to the manager's. It must be called
// before Run. Build is the shorter form for most controllers.
func (m *Manager) Add(options Options) *Controller {
	if options.Log == nil {
		options.Log = m.log
	}
	if options.Metrics == nil {
		options.Metrics = m.options.Metrics
	}
	if options.Journal == nil {
		options.Journal = m.journal
	}
	if options.TracerProvider == nil {
		options.TracerProvider = m.traces
	}
	if options.StopTimeout == 0 {
		options.StopTimeout = m.options.StopTimeout
	}
	if options.Caches == nil {
		options.Caches = []*informer.Factory{m.informers}
	}
	c := New(options)
	m.controllers = append(m.controllers, c)
	return c
}

// Ready returns a channel that is closed when all controllers are ready. A controller whose resource is not
// served yet delays it; the others work meanwhile.
func (m *Manager) Ready() <-chan struct{} { return m.ready }
