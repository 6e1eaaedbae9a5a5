// Package nginx makes Ingresses real: it turns those of its class, with the Services, EndpointSlices and certificates that
// they name, into the configuration of a nginx that it runs.
//
//	model     which requests go where: a pure function of the objects      class.go, model*.go, path.go, backend.go
//	render    the text of nginx.conf: a pure function of that              render.go, nginx.conf.tmpl
//	settle    what nginx refuses is found and left out, all else served    settle.go, sift.go, certificate.go
//	process   nginx itself: tested, reloaded, restarted, ended             process.go, run.go, child.go, folder.go
//	report    what came of it: status and Events                           report.go, status.go, problem.go
//
// There is one request for everything, so a burst of changes is one reload. A change is rendered at once; if the text differs
// from what nginx has, "nginx -t" tests it beside the nginx that runs, it replaces nginx.conf, and SIGHUP has nginx read it.
// That it serves is known when each worker of the configuration before has logged that it takes no more connections, and
// a socket in nginx's folder answers with the hash of the new one.
//
// A reload loses no request. Workers share the listening sockets, so no connection that waits is refused; those of the old
// configuration answer what they have been asked, for up to a minute, and close connections that are idle. A client that sends
// a request over one of these in the same moment finds it closed before any answer. HTTP has it asked again if it may be
// repeated, as clients do; for a POST over a connection that was kept idle, nobody can.
//
// The program in ../cmd is its caller, and so may anyone be.
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
	"github.com/bowline-dev/bowline/internal/why"
)

// DefaultClass is the IngressClass unless another is chosen.
const DefaultClass = "nginx"

// Options are what Run needs. Config, Folder and one of HTTP and HTTPS are required.
type Options struct {
	// Config reaches the server, in process or over the wire.
	Config *rest.Config
	// Source is where the server's own process gets objects from without bytes; nil reads over Config.
	Source client.Source

	// Binary is nginx's program; nginx, as PATH has it, when it is empty.
	Binary string
	// Folder is where nginx's configuration and certificates are kept, for their owner's eyes alone. It is this controller's
	// own: a second one is refused.
	Folder string
	// HTTP and HTTPS are where nginx listens, such as "127.0.0.1:8080", or ":80" for all IPv4 addresses and "[::]:80" for all;
	// empty for not at all.
	HTTP, HTTPS string
	// Class is the name of the IngressClass whose Ingresses are served; DefaultClass when it is empty. It is this controller's
	// own: two would overwrite each other's status, if ever more rarely, and say so in an Event.
	Class string

	// Journal, Forward and TracerProvider are those of controller.ManagerOptions.
	Journal        *why.Journal
	Forward        string
	TracerProvider trace.TracerProvider
	// Log is nil for slog.Default.
	Log *slog.Logger
}

// Run serves Ingresses until ctx ends, and has ended nginx when it returns: gracefully, within seconds. The error is nil when
// ctx ended it. Any other is why it could not begin: what to install, which address is in use, whose the folder is.
func Run(ctx context.Context, o Options) error {
	return run(ctx, o, func(p *process) server { return p })
}

// run is Run, with a server made of nginx's process.
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
		return errors.New("nginx is to listen nowhere: give an address for HTTP or HTTPS")
	}
	if http.overlaps(https) {
		return fmt.Errorf("nginx cannot listen on %s for HTTP and on %s for HTTPS: give each a port of its own", o.HTTP, o.HTTPS)
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

// urls are the addresses as a browser takes them.
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

// runBoth runs the control loop and nginx until ctx ends or either fails. nginx is the last to end.
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
