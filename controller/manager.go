package controller

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/why"
)

// Manager runs controllers that share a client, informers and an event recorder. Add everything, then Run it once.
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
	forwarder   *forwarder // nil when nobody wants to know
	traces      trace.TracerProvider
	ready       chan struct{}
}

// ManagerOptions of a manager. The zero value works: over the wire, without resync.
type ManagerOptions struct {
	// Source is where informers list and watch; nil means over config's connection. In the server's own process it is
	// the server's, and objects are shared with it.
	Source client.Source
	// Resync is how often every object is reconciled although nothing is known to have changed; 0 for never.
	Resync time.Duration
	// Transform changes each object before it is cached, so as to keep less of it, say: see informer.FactoryOptions. nil takes
	// objects as they are.
	Transform func(client.Object) (client.Object, error)
	// Mutations detects changes of cached objects in tests; see informer.DetectMutations.
	Mutations *informer.Mutations
	// Metrics count what the controllers and their queues do; nil counts nothing.
	Metrics *Metrics
	// Namespaces are those whose objects InformersFor holds; none means all.
	Namespaces []string
	// LeaderElection has one of several processes work at a time; nil has this one work.
	LeaderElection *LeaderElection
	// HealthAddress is where Health is served, such as ":8081"; empty serves it nowhere.
	HealthAddress string
	// StopTimeout is the controllers' default.
	StopTimeout time.Duration
	// Journal keeps why the controllers did what they did; nil keeps it for this manager alone. In the server's own process it
	// is the server's, which shows it.
	Journal *why.Journal
	// Authority are the certificates, in PEM, of those who vouch for the server: what Authority returns. Nil means those that
	// config names.
	Authority []byte
	// Forward is a path of the server, such as why.Path, that takes in what this manager's journal has. It is best effort; a
	// server that never knew the path is not asked again. Empty forwards nothing.
	Forward string
	// TracerProvider makes a span for each run of a reconciler; nil traces nothing.
	TracerProvider trace.TracerProvider
	// Log is nil for slog.Default.
	Log *slog.Logger
}

// NewManager makes a manager of controllers that talk to the server of config.
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

// Client writes, and reads what no cache holds.
func (m *Manager) Client() *client.Client { return m.client }

// Authority are the certificates, in PEM, by which clients know the server, for controllers that tell others; empty when nobody
// has said so, or nobody needs to.
func (m *Manager) Authority() []byte { return m.options.Authority }

// authorityOf are the certificates that a client trusts.
func authorityOf(config *rest.Config) ([]byte, error) {
	if len(config.CAData) > 0 || config.CAFile == "" {
		return config.CAData, nil
	}
	data, err := os.ReadFile(config.CAFile)
	if err != nil {
		return nil, fmt.Errorf("the certificates that vouch for the server: %w", err)
	}
	return data, nil
}

// Informers are shared by all controllers: informer.For(m.Informers(), resource) finds one.
func (m *Manager) Informers() *informer.Factory { return m.informers }

// MoreInformers is one more factory, which runs while the manager does, for informers that are to be other than those that all
// share: lazy ones, say. Server, Mutations and Log are the manager's. It must be asked for before Run.
func (m *Manager) MoreInformers(options informer.FactoryOptions) *informer.Factory {
	options.Server, options.Mutations, options.Log = m.client.Server(), m.options.Mutations, m.log
	f := informer.NewFactory(m.options.Source, options)
	m.others = append(m.others, f)
	return f
}

// Recorder makes a recorder of events in the name of a component, which works while the manager runs.
func (m *Manager) Recorder(component string) *Recorder {
	r := NewRecorder(m.client, component, m.log)
	m.recorders = append(m.recorders, r)
	return r
}

// Journal is why the controllers did what they did.
func (m *Manager) Journal() *why.Journal { return m.journal }

// Add makes a controller that the manager runs. What its options leave out and the manager's have is the manager's.
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

// Ready is closed when all controllers are ready. It is not while one waits for a resource that is not served yet; the
// others work meanwhile.
func (m *Manager) Ready() <-chan struct{} { return m.ready }
