package bowline

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controller/why"
	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/pki"
	"github.com/bowline-dev/bowline/internal/auth/serviceaccount"
	"github.com/bowline-dev/bowline/internal/capacity"
	"github.com/bowline-dev/bowline/internal/https"
	"github.com/bowline-dev/bowline/internal/inprocess"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/plugins"
	"github.com/bowline-dev/bowline/internal/plugins/policy"
	"github.com/bowline-dev/bowline/internal/plugins/webhook"
	"github.com/bowline-dev/bowline/internal/server"
	"github.com/bowline-dev/bowline/internal/server/roles"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// encodingBudget bounds the additional encodings of objects (JSON besides protobuf), and historyBudget the states that
// were replaced, in bytes. Each is also bounded by a share of the memory of the process. An object takes about 1.3
// times its size, and garbage up to as much again, so a quota of a third leaves a third for everything else.
const (
	encodingBudget, encodingShare = 64 << 20, 32
	historyBudget, historyShare   = 256 << 20, 16
	quotaShare                    = 3
)

// Storage makes the objects of a plane durable. Package storage/disk opens one in a directory. It is opaque: only this
// module implements it.
type Storage = log.Log

// NoControllers is the entry of Options.Controllers that disables every controller that the list does not enable.
const NoControllers = "-*"

// Options configures a plane. The zero value starts a plane in memory with the default controllers and no
// socket.
type Options struct {
	// Storage holds the objects. A plane started on the storage of an earlier one has its objects. Start takes
	// ownership of Storage: Close, or a failed Start, closes it. Nil holds the objects in memory for the life of the
	// plane.
	Storage Storage
	// AcceptDamage starts the plane although some stored objects cannot be read. Requests for such an object
	// fail with an error that names the damage, and it can be deleted. Without AcceptDamage, Start fails and
	// names the objects.
	AcceptDamage bool
	// SkipBootstrap starts without creating or repairing the built-in namespaces and the kubernetes Service, and
	// without deleting stored Events when they expire. Forks use it, and programs that inspect a backup.
	SkipBootstrap bool
	// MaxBytes bounds the size of the stored objects: their encodings, and about 300 bytes for each. At the limit,
	// writes that add bytes are rejected with status 507; reads, deletes, status updates and leases continue. 0 means
	// a third of the memory that the process may use: of the machine, its cgroup, its ulimits and GOMEMLIMIT. A
	// negative number means no limit.
	MaxBytes int64
	// MaxNamespaceBytes bounds the stored objects of each namespace like MaxBytes; 0 means no limit.
	MaxNamespaceBytes int64
	// ID identifies the plane, as the UID of the namespace kube-system, which clients use as the identity of
	// a cluster. A plane restarted with the same ID recognizes what it created elsewhere. Empty means a
	// random ID. Start fails if it cannot be a segment of a path, because controllers use it in names.
	ID string
	// Listen is the address of a TLS socket, such as 127.0.0.1:6443; port 0 selects a free one. Without
	// Listen, the plane is reachable only through RESTConfig, Source and Handler.
	Listen string
	// TLS configures the socket. Its ClientCAs verify client certificates; Start fails without them. If TLS is nil,
	// the plane generates its certificates in memory, and Plane.SocketConfig and Plane.IssueClient work. It is
	// ignored without Listen.
	TLS *tls.Config
	// Authority is the PEM bundle of the CA certificates that verify the certificate in TLS. Each namespace has it
	// in its ConfigMap kube-root-ca.crt. It is ignored if the plane generates its certificates.
	Authority []byte
	// Kubelets configures the connections to kubelets, for exec, attach, port-forward, logs and proxies: the client
	// certificate with which the plane authenticates, and the RootCAs that verify the kubelets. Without RootCAs,
	// the certificates of kubelets are not verified, like by a kube-apiserver without --kubelet-certificate-authority.
	// If Kubelets is nil, the client certificate is one of the user kube-apiserver-kubelet-client in the group
	// system:masters if the plane generates its certificates; otherwise there is none.
	Kubelets *tls.Config
	// FrontProxy has the client certificate with which the plane forwards requests to aggregated API servers, and
	// FrontProxyAuthority the CA certificate that verifies it, in PEM; aggregated servers read it from the ConfigMap
	// extension-apiserver-authentication in kube-system. The certificate must be for front-proxy-client. If FrontProxy
	// is nil, a plane with Listen generates both, and others have none.
	FrontProxy          *tls.Config
	FrontProxyAuthority []byte
	// TokenKey signs the tokens of service accounts. It must have the curve P-256. If TokenKey is nil, the plane
	// generates a key, and its tokens are invalid after a restart. A fork is a sandbox: it generates its own key unless
	// Fork's change sets one. It accepts the tokens of this plane, whose service accounts it has, but this plane
	// does not accept the tokens of the fork.
	TokenKey *ecdsa.PrivateKey
	// Controllers selects among the names that the function Controllers returns, as kube-controller-manager does: a
	// name enables a controller, -name disables it, * enables all others. Start fails for an unknown name. A nil or
	// empty list selects the controllers without which the API is incomplete: they delete the contents of namespaces,
	// create their ServiceAccounts and root certificate ConfigMaps, fill the Secrets that request tokens, collect
	// garbage, protect PersistentVolumeClaims and ranges of service addresses in use, delete orphaned pods and finished
	// Jobs, and count the usage of quotas.
	// NoControllers as the only entry selects none.
	Controllers []string
	// Admission turns built-in admission plugins on or off: NAME turns a plugin on, -NAME turns it off, and the last
	// entry for a name decides. Plugins without an entry have Kubernetes' default, except that ServiceAccount is off,
	// as in envtest: it rejects pods in namespaces without the account that the controller serviceaccount creates.
	// bowline up turns it on if that controller runs. The function AdmissionPlugins returns the names; Start fails for
	// any other.
	Admission []string
	// AdmissionConfig names the file that configures admission plugins, an AdmissionConfiguration as of
	// kube-apiserver's option --admission-control-config-file. EventRateLimit and ImagePolicyWebhook need it;
	// PodNodeSelector, PodSecurity and PodTolerationRestriction can do without it. Start fails if the file is wrong.
	// Forks read it again.
	AdmissionConfig string
	// API turns group versions and resources of built-in kinds on or off, in the syntax of kube-apiserver's option
	// --runtime-config: policy/v1beta1=false, v1/podtemplates=false, api/beta=false. All are on by default, except the
	// versions that Kubernetes disables by default: resource.k8s.io/v1beta1=true turns one on. Clients, also in this
	// process, do not find a resource that is off; its objects remain stored, also if their namespace is deleted
	// meanwhile. Start fails for an unknown name, and if the server or one of the Controllers needs a resource that is
	// off.
	API []string
	// Plugins are additional admission plugins. They run after the built-in ones, and before initializers, webhooks,
	// admission policies and ResourceQuota. A plugin must return when its context ends: an in-process client may wait
	// for it even after its own context has ended. Forks use the same plugins, possibly concurrently.
	Plugins []admission.Plugin
	// TracerProvider creates a span for each request and one below it for each stage. Nil disables tracing at
	// no cost. The caller shuts it down, after Close.
	TracerProvider trace.TracerProvider
	// Logger receives the plane's log; nil discards it.
	Logger *slog.Logger
}

// Plane is a running control plane: the API, its store and its controllers. The caller of Start must call Close. The
// methods are safe for concurrent use.
type Plane struct {
	options   Options // as passed to Start; forks inherit them
	store     *store.Store
	server    *server.Server
	handler   http.Handler
	transport *inprocess.Transport
	log       *slog.Logger
	// parentKeys verify tokens of the planes that this one was forked from, beside its own key.
	parentKeys []*ecdsa.PublicKey
	issuer     *serviceaccount.Issuer // of the tokens of service accounts

	listener net.Listener
	socket   *https.Server // serves listener; nil before that
	// drain is how long Close waits for requests in flight before it cancels them, and cancelWait how long it waits for
	// them after that.
	drain, cancelWait time.Duration

	keys *pki.Keeper

	ctx    context.Context
	cancel context.CancelFunc
	// sockets tracks the HTTP server.
	sockets sync.WaitGroup
	// controllersEnded receives the error of the controllers, which end with ctx; nil without controllers.
	controllersEnded chan error
	// ready is closed when the controllers' caches are synced; nil without controllers.
	ready   <-chan struct{}
	metrics *controller.Metrics // of the controllers and their work queues
	journal *why.Journal
	close   func() error // shutdown, at most once
}

// admin is the user of RESTConfig and Source.
var admin = auth.NewUser(pki.AdminName, auth.AdminGroup)

// AdmissionPlugins returns the names of the built-in admission plugins in the order of their calls.
func AdmissionPlugins() []string { return plugins.Names() }

// Start starts a control plane. When it returns, the plane serves requests and the caches of its controllers are
// synced. ctx bounds the start only; the plane runs until Close. If Start fails, nothing is left running.
func Start(ctx context.Context, o Options) (*Plane, error) {
	if o.Storage == nil {
		o.Storage = memory.New()
	}
	var err error
	if o.Controllers, err = selectControllers(o.Controllers); err == nil && !object.ValidUID(types.UID(o.ID)) {
		err = fmt.Errorf("invalid Options.ID %q: must be a segment of a path of at most 128 bytes", o.ID)
	}
	if err == nil {
		err = plugins.Check(o.Admission)
	}
	var settings plugins.Settings
	if err == nil {
		settings, err = plugins.ReadSettings(o.AdmissionConfig, o.Admission)
	}
	if err == nil {
		err = checkAPI(o.API, o.Controllers)
	}
	if err == nil {
		o.TokenKey, err = tokenKey(o.TokenKey)
	}
	if err != nil {
		return nil, errors.Join(err, o.Storage.Close())
	}
	state, err := store.New(ctx, o.Storage, storeOptions(o))
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	return newPlane(ctx, o, settings, state, nil)
}

// storeOptions returns the options of a plane's store. The memory of the process bounds what it holds.
func storeOptions(o Options) store.Options {
	memory := capacity.Memory()
	quota := store.Quota{Bytes: o.MaxBytes, NamespaceBytes: o.MaxNamespaceBytes}
	switch {
	case o.MaxBytes == 0:
		quota.Bytes = memory / quotaShare
	case o.MaxBytes < 0:
		quota.Bytes = 0
	}
	return store.Options{
		AcceptDamage: o.AcceptDamage, Quota: quota, HistoryBytes: int(min(historyBudget, memory/historyShare)),
	}
}

// newPlane starts a plane on a store and takes ownership of it. o.Controllers must be a result of selectControllers.
// parent is the plane that is forked, or nil.
func newPlane(ctx context.Context, o Options, settings plugins.Settings, state *store.Store, parent *Plane) (
	*Plane, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Plane{options: o, store: state, log: o.Logger, drain: drainTimeout, cancelWait: cancelTimeout,
		metrics: controller.NewMetrics()}
	p.journal = why.New(why.Options{Log: o.Logger})
	p.close = sync.OnceValue(p.shutdown)
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	var reuse *server.Server
	if parent != nil {
		reuse = parent.server
		p.parentKeys = append([]*ecdsa.PublicKey{&parent.options.TokenKey.PublicKey}, parent.parentKeys...)
	}
	if err := p.start(ctx, settings, reuse); err != nil {
		p.Close()
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	return p, nil
}

func (p *Plane) start(ctx context.Context, settings plugins.Settings, parent *server.Server) (err error) {
	o := p.options
	authenticators := []auth.Authenticator{auth.InProcess()}
	if o.Listen != "" {
		roots, err := p.listen(ctx, o)
		if err != nil {
			return err
		}
		authenticators = append(authenticators, auth.ClientCertificates(roots))
	}
	apis, err := builtin.ParseAPIs(o.API)
	if err != nil {
		return err
	}
	mutating, validating, webhookMetrics := webhook.Plugins(p.ctx, o.Logger)
	kubelets := o.Kubelets
	if kubelets == nil && p.keys != nil {
		kubelets = p.keys.KubeletConfig()
	}
	_, inMemory := o.Storage.(*memory.Log)
	encodings := int(min(encodingBudget, capacity.Memory()/encodingShare))
	if o.FrontProxy == nil && o.Listen != "" {
		proxy, err := pki.NewFrontProxy()
		if err != nil {
			return err
		}
		o.FrontProxy, o.FrontProxyAuthority = proxy.Config(), proxy.AuthorityPEM()
	}
	kinds := kind.NewRegistry(apis.Kinds(object.NewCache(encodings))...)
	settings.Kinds = kinds
	tokens, bearers, openID, err := p.tokens(kinds)
	if err != nil {
		return err
	}
	p.issuer = tokens
	authenticators = append(authenticators, bearers)
	p.server, err = server.New(ctx, server.Options{
		Store:         p.store,
		Kinds:         kinds,
		Authenticator: auth.FirstOf(append(authenticators, auth.Anonymous())...),
		Authorizer: auth.Union(auth.Admins(), auth.OwnPaths(), auth.PublicPaths(), auth.SelfReviews(),
			serviceaccount.IssuerDiscovery(), roles.New(p.store, kinds, o.Logger)),
		Plugins: settings.Select(o.Admission, o.Plugins,
			&plugins.Initializers{}, policy.Mutating(kinds), mutating,
			policy.Validating(kinds), validating),
		Initial:        p.initial(o.FrontProxyAuthority),
		DisableExpiry:  o.SkipBootstrap,
		ReuseKinds:     parent,
		Checks:         p.checks(o.Storage),
		Components:     p.components(o.Controllers),
		Prompt:         inMemory,
		Kubelet:        kubelets,
		FrontProxy:     o.FrontProxy,
		Why:            p.journal,
		Tokens:         tokens,
		Bearers:        bearers,
		OpenID:         openID,
		Collectors:     []prometheus.Collector{p.metrics, webhookMetrics},
		TracerProvider: o.TracerProvider,
		Log:            o.Logger,
	})
	if err != nil {
		return err
	}
	p.handler = p.server.Handler()
	p.transport = inprocess.NewTransport(p.handler)
	if err := p.runControllers(ctx, o.Controllers); err != nil {
		return err
	}
	if p.listener != nil {
		p.serve(o.TLS)
	}
	return nil
}

// checks returns the health checks of the controllers and the storage. The server adds its own.
func (p *Plane) checks(storage Storage) []server.Check {
	checks := []server.Check{{Name: "controllers", Ready: true, Check: p.checkControllers}}
	if s, ok := storage.(interface{ Health() error }); ok { // disks fail and recover
		checks = append(checks, server.Check{Name: "storage", Ready: true, Check: func(context.Context) error {
			return s.Health()
		}})
	}
	return checks
}

// initial returns the built-in objects to create or repair. frontProxy is the authority of the front proxy, if any.
func (p *Plane) initial(frontProxy []byte) []kind.Initial {
	if p.options.SkipBootstrap {
		return nil
	}
	initial := builtin.Initial(types.UID(p.options.ID), p.advertisedAddress())
	if len(frontProxy) > 0 {
		initial = append(initial, builtin.DelegatedAuthentication(p.clientAuthority(), frontProxy))
	}
	return initial
}

// clientAuthority returns the CA certificates, in PEM, that verify clients; nil if they are not known as PEM: those of
// Options.TLS are a pool, which is only known if it is that of Options.Authority.
func (p *Plane) clientAuthority() []byte {
	o := &p.options
	if p.keys != nil {
		return p.keys.AuthorityPEM()
	}
	pool := x509.NewCertPool()
	if o.Listen == "" || !pool.AppendCertsFromPEM(o.Authority) || !pool.Equal(o.TLS.ClientCAs) {
		return nil
	}
	return o.Authority
}

// listen opens the socket and returns the CA certificates that verify clients. serve accepts connections on it later.
func (p *Plane) listen(ctx context.Context, o Options) (*x509.CertPool, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	p.listener = https.Limit(listener, maxConnections(), p.log)
	if o.TLS != nil {
		if o.TLS.ClientCAs == nil {
			return nil, errors.New("Options.TLS has no ClientCAs, so no client could authenticate: set TLS.ClientCAs")
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

// An idle connection takes about 20 KiB, and one with a watch twice as much. Connections may have an eighth of the
// memory.
const connectionShare, connectionBytes = 8, 32 << 10

func maxConnections() int {
	return int(min(int64(https.MaxConnections()), capacity.Memory()/connectionShare/connectionBytes))
}

// serve starts to accept connections on the socket, until Close.
func (p *Plane) serve(config *tls.Config) {
	if config == nil {
		config = p.keys.ServerConfig()
	}
	p.socket = https.New(p.listener, config, p.handler, p.log)
	p.sockets.Go(func() {
		if err := p.socket.Serve(); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("the socket failed; no further connections are accepted", "address", p.Addr(), "error", err)
		}
	})
}

// Addr returns the host and port of the socket, or the empty string without Options.Listen.
func (p *Plane) Addr() string {
	if p.listener == nil {
		return ""
	}
	return p.listener.Addr().String()
}

// Handler returns the API as an http.Handler, for a server or a test of the caller. A request passed to it directly is
// authenticated by the client certificate in its TLS field if the plane has a socket. Any other request is anonymous
// and may only read the health and version paths.
func (p *Plane) Handler() http.Handler { return p.handler }

// RESTConfig returns the configuration of a client-go client in this process. Clients act as the administrator, over
// the in-process transport and without rate limits, until Close. Each call returns a new Config, which the caller may
// modify.
func (p *Plane) RESTConfig() *rest.Config { return p.transport.As(asAdmin).RESTConfig() }

func asAdmin(ctx context.Context) context.Context { return auth.WithUser(ctx, admin) }

// As returns the configuration of a client-go client like RESTConfig, for another user: a member of groups and of
// system:authenticated. Clients may do what roles grant to the user and its groups, and everything if one of these is
// system:masters. They cannot become another user: the plane ignores their credentials, and their impersonation headers
// need the right to impersonate. Without a name, only a bearer token authenticates requests. Each call returns a new
// Config, which the caller may modify.
func (p *Plane) As(name string, groups ...string) *rest.Config {
	if name == "" {
		return p.transport.RESTConfig()
	}
	user := auth.NewUser(name, groups...)
	return p.transport.As(func(ctx context.Context) context.Context { return auth.WithUser(ctx, user) }).RESTConfig()
}

// AsServiceAccount returns the configuration of a client-go client like As, for a service account and the groups that
// its tokens have. The ServiceAccount need not exist.
func (p *Plane) AsServiceAccount(namespace, name string) *rest.Config {
	return p.As(serviceaccount.UserName(namespace, name), serviceaccount.Groups(namespace)...)
}

// errNoKeys is returned by a plane that did not generate its certificates.
var errNoKeys = errors.New("the plane did not generate certificates: set Options.Listen and leave Options.TLS nil")

// SocketConfig returns the configuration of a client-go client over the plane's socket. Clients act as the
// administrator, without rate limits. SocketConfig returns an error unless the plane listens with generated
// certificates.
func (p *Plane) SocketConfig() (*rest.Config, error) {
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
		// The server is on this machine: compressing responses costs more than sending them.
		DisableCompression: true,
	}, nil
}

// IssueClient issues a client certificate for the user name, a member of groups, and returns the configuration of a
// client-go client that uses it, as SocketConfig does for the administrator.
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

// Source returns lists and watches of the server's objects themselves, without encoding them, for informers in this
// process. It acts as the administrator. The objects are shared and must not be modified.
func (p *Plane) Source() client.Source { return p.server.Source(admin) }

// Journal returns the journal in which the plane's controllers record what they did and why; bowline why prints it.
// Controllers of the caller use it through controller.ManagerOptions.Journal; those in other processes send their
// records over the API.
func (p *Plane) Journal() *why.Journal { return p.journal }
