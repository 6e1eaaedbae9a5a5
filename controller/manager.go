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

// Manager runs controllers that share a client, informers and event recorders. Add controllers, recorders and informer
// factories first, from one goroutine; then call Run once. The other methods are safe for concurrent use.
type Manager struct {
	client      *client.Client
	informers   *informer.Factory
	added       []*informer.Factory
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

// ManagerOptions configures a Manager. The zero value works: informers use config's connection and do not resync.
type ManagerOptions struct {
	// Source is the source of the informers' lists and watches; nil means config's connection. In the process of the
	// server, pass bowline.Plane.Source, which avoids encoding and decoding its objects.
	Source client.Source
	// Resync is the interval at which every object is reconciled even if it did not change; 0 means never.
	Resync time.Duration
	// Transform modifies each object before it is cached, for example to drop fields; see
	// informer.FactoryOptions.
	Transform func(client.Object) (client.Object, error)
	// Mutations detects modifications of cached objects in tests; see informer.DetectMutations.
	Mutations *informer.Mutations
	// Metrics counts and times the work of the controllers and their queues; nil disables that.
	Metrics *Metrics
	// Namespaces restricts ObjectsOf to the objects of these namespaces; empty means all namespaces.
	Namespaces []string
	// LeaderElection makes only one of several processes run its controllers at a time. Nil disables leader election.
	LeaderElection *LeaderElection
	// HealthAddress is the address at which Run serves Health over plain HTTP, such as ":8081"; empty means none.
	HealthAddress string
	// StopTimeout is the default of the controllers' Options.StopTimeout.
	StopTimeout time.Duration
	// Journal records the runs of the controllers and their causes; nil means one private to the manager. In
	// the process of the server, pass bowline.Plane.Journal, so that bowline why shows the runs.
	Journal *why.Journal
	// Authority is the PEM bundle that the method Authority returns. Nil means the CA certificates of config.
	Authority []byte
	// Forward is a path of the server, such as why.Path, to which the manager sends completed runs, so that bowline why
	// shows them. It may lose runs, and stops trying if the server does not have the path. Empty means that runs are
	// not forwarded.
	Forward string
	// TracerProvider traces each run of a reconciler as a span; nil disables tracing.
	TracerProvider trace.TracerProvider
	// Log is the logger of the manager, its controllers and informers; nil means slog.Default.
	Log *slog.Logger
}

// NewManager returns a manager of controllers that use the server of config. It returns an error if the config or
// options.LeaderElection is invalid. It sends no request.
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

// Client returns the manager's client, for writes and for reads of objects that are not cached.
func (m *Manager) Client() *client.Client { return m.client }

// Authority returns the PEM bundle with which clients verify the server, for controllers that publish it. It
// is empty if none is configured, and must not be modified.
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

// Informers returns the informer factory that all controllers share, which Run runs. Most controllers use ObjectsOf
// instead.
func (m *Manager) Informers() *informer.Factory { return m.informers }

// NewInformers returns another factory that Run runs, for informers whose options differ from the shared factory's,
// such as lazy informers. The manager sets Server, Mutations and Log. NewInformers must be called before Run. A
// controller that reads these informers names the factory in Options.Caches.
func (m *Manager) NewInformers(options informer.FactoryOptions) *informer.Factory {
	options.Server, options.Mutations, options.Log = m.client.Server(), m.options.Mutations, m.log
	f := informer.NewFactory(m.options.Source, options)
	m.added = append(m.added, f)
	return f
}

// Recorder returns a new recorder of events for a component, which Run runs. It must be called before Run.
func (m *Manager) Recorder(component string) *Recorder {
	r := newRecorder(m.client, component, m.log)
	m.recorders = append(m.recorders, r)
	return r
}

// Journal returns the journal of the controllers' runs.
func (m *Manager) Journal() *why.Journal { return m.journal }

// Add adds a controller, which Run runs. The options that the manager has too, and Caches, default to the manager's.
// Add must be called before Run. Most controllers use Build, which derives the sources from handles.
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

// Ready returns a channel that is closed when all controllers are ready; see Controller.Ready. It stays open while a
// manager waits for its lease or a controller for its resource to be served; other controllers work meanwhile. It stays
// open if Run returns before that.
func (m *Manager) Ready() <-chan struct{} { return m.ready }
