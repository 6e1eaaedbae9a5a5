// Package nginx implements an Ingress controller: it converts the Ingresses of its class, with the Services,
// EndpointSlices and certificates that they name, into the configuration of an nginx that it runs.
//
//	model     which requests go where: a pure function of the objects       class.go, model*.go, path.go, backend.go
//	render    the text of nginx.conf: a pure function of the model          render.go, nginx.conf.tmpl
//	apply     excludes what nginx refuses, and serves everything else       apply.go, bisect.go, certificate.go
//	process   nginx itself: test, reload, restart, stop                     process.go, run.go, child.go, folder.go
//	report    the result: status and Events                                 report.go, status.go, problem.go
//
// The control loop has a single request, so a burst of changes causes one reload. Each change is rendered at
// once. If the text differs from nginx's current configuration, "nginx -t" tests it while the running nginx
// continues; then the text replaces nginx.conf, and nginx is reloaded with SIGHUP. The new configuration is
// in effect when each worker of the previous one has logged that it accepts no more connections, and a socket
// in nginx's folder answers with the hash of the new one.
//
// A reload loses no request. Workers share the listening sockets, so no waiting connection is refused. The
// old workers answer their pending requests, for up to a minute, and close idle connections. A client that
// sends a request over such a connection at the same moment finds it closed without an answer. According to
// HTTP the client repeats the request if it is idempotent, as usual clients do; a POST over an idle
// connection cannot be repeated.
//
// The program in ../cmd calls the package; other programs may too.
package nginx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controller/why"
)

// DefaultClass is the default of Options.Class.
const DefaultClass = "nginx"

// Options configure Run. Config, Folder and one of HTTP and HTTPS are required.
type Options struct {
	// Config is the client configuration of the server, in process or over the wire.
	Config *rest.Config
	// Source provides objects without encoding in the server's own process; nil reads over Config.
	Source client.Source

	// Binary is the path or name of the nginx program; the default is nginx in PATH.
	Binary string
	// Folder contains nginx's configuration and certificates, readable only by their owner. Run fails if
	// another controller uses it.
	Folder string
	// HTTP and HTTPS are the addresses on which nginx listens, such as "127.0.0.1:8080", ":80" for all IPv4
	// addresses, or "[::]:80" for all addresses. An empty address disables the protocol.
	HTTP, HTTPS string
	// Class is the name of the IngressClass whose Ingresses are served; the default is DefaultClass. Each
	// class should have only one controller: two would overwrite each other's status, at increasing
	// intervals, and report it in an Event.
	Class string

	// Journal, Forward and TracerProvider are passed to the manager of the control loop.
	Journal        *why.Journal
	Forward        string
	TracerProvider trace.TracerProvider
	// Log defaults to slog.Default.
	Log *slog.Logger
}

// Run serves Ingresses until ctx ends. Before it returns it stops nginx gracefully, within seconds. It
// returns nil when ctx ends. Any other error means that it could not start, and names the reason: nginx is
// missing, an address is in use, or another controller uses the folder.
func Run(ctx context.Context, o Options) error {
	return run(ctx, o, func(p *process) server { return p })
}

// run implements Run. serverOf may wrap nginx's process.
func run(ctx context.Context, o Options, serverOf func(*process) server) error {
	log := o.Log
	if log == nil {
		log = slog.Default()
	}
	http, err := parseAddress(o.HTTP)
	if err != nil {
		return err
	}
	https, err := parseAddress(o.HTTPS)
	if err != nil {
		return err
	}
	if !http.IsValid() && !https.IsValid() {
		return errors.New("nginx has no address to listen on: set one for HTTP or HTTPS")
	}
	if http.overlaps(https) {
		return fmt.Errorf("nginx cannot listen on %s for HTTP and on %s for HTTPS: choose different ports", o.HTTP,
			o.HTTPS)
	}
	at := listening{http.directive(), https.directive()}
	p, err := newProcess(ctx, cmp.Or(o.Binary, "nginx"), o.Folder, at, log)
	if err != nil {
		return err
	}
	log.Info("requests for Ingresses go to "+urls(o.HTTP, o.HTTPS), "nginx", p.binary)
	m, err := newManager(o.Config, loop.ManagerOptions{
		Source: o.Source, Journal: o.Journal, Forward: o.Forward, TracerProvider: o.TracerProvider, Log: log,
	}, cmp.Or(o.Class, DefaultClass), http, https, serverOf(p))
	if err != nil {
		return errors.Join(err, p.folder.close())
	}
	return runBoth(ctx, m.Run, p.Run)
}

// urls returns the addresses as URLs.
func urls(http, https string) string {
	var all []string
	if http != "" {
		all = append(all, "http://"+http)
	}
	if https != "" {
		all = append(all, "https://"+https)
	}
	return strings.Join(all, " and ")
}

// runBoth runs the control loop and nginx until ctx ends or one of them fails. It stops nginx last.
func runBoth(ctx context.Context, controller, nginx func(context.Context) error) error {
	looping, stopLoop := context.WithCancel(ctx)
	defer stopLoop()
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	var loopErr, nginxErr error
	var parts sync.WaitGroup
	parts.Go(func() {
		defer stopServing()
		loopErr = controller(looping)
	})
	parts.Go(func() {
		defer stopLoop()
		nginxErr = nginx(serving)
	})
	parts.Wait()
	return errors.Join(nginxErr, loopErr)
}
