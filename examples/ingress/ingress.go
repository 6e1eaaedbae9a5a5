// Package ingress runs the Ingress example: an annotation of a Service requests an Ingress, and requests for
// its host are routed to its backends. Two independent controllers implement it; they communicate only
// through Ingress objects:
//
//	manager/  creates an Ingress for each annotated Service
//	nginx/    converts Ingresses into the configuration of an nginx that it runs
//
// The callers are the bowline command (in the server's process, `up --controllers='*,ingress'`) and the
// example's own program (cmd). The program in folder backend serves the routed requests.
package ingress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller/why"
	"github.com/bowline-dev/bowline/examples/ingress/manager"
	"github.com/bowline-dev/bowline/examples/ingress/nginx"
)

// The values of Options.Controllers.
const (
	Manager = "manager"
	Nginx   = "nginx"
)

// Options configure Run. Config is required; nginx also requires Folder and an address.
type Options struct {
	// Config is the client configuration of the server, in process or over the wire.
	Config *rest.Config
	// Source provides objects without encoding in the server's own process; nil reads over Config.
	Source client.Source

	// Controllers are the controllers to run. If it is empty, both run, or only the manager if nginx is not
	// installed.
	Controllers []string
	// Class is the IngressClass of the Ingresses that the manager creates and nginx serves; empty means
	// "nginx".
	Class string
	// Program is the path or name of the nginx program; empty searches PATH and the usual system directories.
	Program string
	// Folder contains nginx's configuration and certificates. No other nginx may use it.
	Folder string
	// HTTP and HTTPS are the addresses on which nginx listens, such as "127.0.0.1:8080". Port 0 selects a
	// free port; an empty address disables the protocol.
	HTTP, HTTPS string

	// Journal, Forward and TracerProvider are passed to the controllers' managers.
	Journal        *why.Journal
	Forward        string
	TracerProvider trace.TracerProvider
	// Log defaults to slog.Default. It receives the addresses on which nginx listens.
	Log *slog.Logger
}

// Run runs the controllers until ctx ends, and returns when everything that it started, including nginx, has
// ended. It returns nil when ctx ends. If one controller fails, Run stops the other one and returns the
// error.
func Run(ctx context.Context, o Options) error {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if problems := validation.NameIsDNSSubdomain(o.Class, false); o.Class != "" && len(problems) > 0 {
		return fmt.Errorf("invalid class %q: must be the name of an IngressClass: %s", o.Class,
			strings.Join(problems, "; "))
	}
	chosen, err := o.chosen(usualPlaces)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var managing, serving error
	var running sync.WaitGroup
	if slices.Contains(chosen, Manager) {
		running.Go(func() {
			defer cancel()
			managing = o.runManager(ctx)
		})
	}
	if slices.Contains(chosen, Nginx) {
		running.Go(func() {
			defer cancel()
			serving = o.runNginx(ctx)
		})
	}
	running.Wait()
	return errors.Join(managing, serving)
}

// usualPlaces are the names and paths at which nginx is searched: PATH, and the directories of Debian and
// FreeBSD, which only root's PATH contains.
var usualPlaces = []string{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"}

// chosen returns the controllers to run. It sets Program to the path of nginx, which it searches in places
// unless Program is set. If nginx was not requested explicitly and is missing, chosen logs a warning and
// returns only the manager.
func (o *Options) chosen(places []string) ([]string, error) {
	for _, name := range o.Controllers {
		if name != Manager && name != Nginx {
			return nil, fmt.Errorf("unknown controller %q: must be %s or %s", name, Manager, Nginx)
		}
	}
	explicit := len(o.Controllers) > 0
	if explicit && !slices.Contains(o.Controllers, Nginx) {
		return o.Controllers, nil
	}
	if o.Program != "" {
		places = []string{o.Program}
	}
	program, err := findNginx(places)
	switch {
	case err == nil:
		o.Program = program
	case explicit || o.Program != "":
		return nil, err
	default:
		o.Log.Warn("Ingresses are created, but not served here", "why", err)
		return []string{Manager}, nil
	}
	if !explicit {
		return []string{Manager, Nginx}, nil
	}
	return o.Controllers, nil
}

// findNginx returns the path of the first of these programs that exists.
func findNginx(places []string) (string, error) {
	for _, place := range places {
		if path, err := exec.LookPath(place); err == nil {
			return path, nil
		}
	}
	return "",
		fmt.Errorf("nginx is not installed (apt-get install nginx-light, dnf install nginx, brew install nginx), "+
			"or is not at %s", strings.Join(places, ", "))
}

func (o *Options) runManager(ctx context.Context) error {
	return manager.Run(ctx, manager.Options{
		Config: o.Config, Source: o.Source, Class: o.Class,
		Journal: o.Journal, Forward: o.Forward, TracerProvider: o.TracerProvider, Log: o.Log,
	})
}

func (o *Options) runNginx(ctx context.Context) error {
	if err := withPorts(&o.HTTP, &o.HTTPS); err != nil {
		return err
	}
	return nginx.Run(ctx, nginx.Options{
		Config: o.Config, Source: o.Source, Class: o.Class,
		Binary: o.Program, Folder: o.Folder, HTTP: o.HTTP, HTTPS: o.HTTPS,
		Journal: o.Journal, Forward: o.Forward, TracerProvider: o.TracerProvider, Log: o.Log,
	})
}

// withPorts replaces each port 0 with a different free port. The ports are not reserved, so another process
// may take one before nginx does.
func withPorts(addresses ...*string) error {
	for _, address := range addresses {
		if _, port, err := net.SplitHostPort(*address); err != nil || port != "0" {
			continue // nginx reports invalid addresses
		}
		l, err := net.Listen("tcp", *address)
		if err != nil {
			return fmt.Errorf("find a free port for nginx: %w", err)
		}
		defer l.Close() // after all ports have been chosen
		*address = l.Addr().String()
	}
	return nil
}
