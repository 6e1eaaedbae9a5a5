// Package ingress runs the Ingress example: a Service asks by an annotation to be reached from outside, and requests for its
// host are routed to its backends. Two controllers do it, which know nothing of each other and meet in the Ingress alone:
//
//	manager/  a Service that is annotated gets an Ingress
//	nginx/    Ingresses become the configuration of a nginx that it runs
//
// Its callers are the bowline command (in the server's process, `up --controllers='*,ingress'`) and the example's own program
// (cmd). Package backend is a program to route requests to.
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
	"github.com/bowline-dev/bowline/examples/ingress/manager"
	"github.com/bowline-dev/bowline/examples/ingress/nginx"
	"github.com/bowline-dev/bowline/internal/why"
)

// The controllers, as Options.Controllers names them.
const (
	Manager = "manager"
	Nginx   = "nginx"
)

// Options are what Run needs. Config is required, and for nginx Folder and an address.
type Options struct {
	// Config reaches the server, in process or over the wire.
	Config *rest.Config
	// Source is where the server's own process gets objects from without bytes; nil reads over Config.
	Source client.Source

	// Controllers are those to run; none means both, or the manager alone where nginx is not installed.
	Controllers []string
	// Class is the IngressClass that the manager gives Ingresses, and whose Ingresses nginx serves; empty means "nginx".
	Class string
	// Program is nginx, as a path or a name in PATH; empty looks for it in PATH and where systems keep it for root alone.
	Program string
	// Folder is where nginx's configuration and certificates are kept. It is this nginx's own.
	Folder string
	// HTTP and HTTPS are where nginx listens, such as "127.0.0.1:8080"; port 0 is any free one, and empty is nowhere.
	HTTP, HTTPS string

	// Journal, Forward and TracerProvider are those of controller.ManagerOptions.
	Journal        *why.Journal
	Forward        string
	TracerProvider trace.TracerProvider
	// Log is nil for slog.Default. It tells where nginx listens.
	Log *slog.Logger
}

// Run runs the controllers until ctx ends, and has then stopped all that it started, nginx too. The error is nil when ctx
// ended it; any other is why one of them could not begin or go on, which ends the other one as well.
func Run(ctx context.Context, o Options) error {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if wrong := validation.NameIsDNSSubdomain(o.Class, false); o.Class != "" && len(wrong) > 0 {
		return fmt.Errorf("the class %q is no name of an IngressClass: %s", o.Class, strings.Join(wrong, "; "))
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

// usualPlaces are where nginx may be: in PATH, or where Debian and FreeBSD keep it, which is in nobody's PATH but root's.
var usualPlaces = []string{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"}

// chosen are the controllers to run. It sets Program to nginx's path, which is looked for in places unless it is said where it
// is. Where nobody asked for nginx, its absence is said and nothing more.
func (o *Options) chosen(places []string) ([]string, error) {
	for _, name := range o.Controllers {
		if name != Manager && name != Nginx {
			return nil, fmt.Errorf("there is no controller %q: there are %s and %s", name, Manager, Nginx)
		}
	}
	asked := len(o.Controllers) > 0
	if asked && !slices.Contains(o.Controllers, Nginx) {
		return o.Controllers, nil
	}
	if o.Program != "" {
		places = []string{o.Program}
	}
	program, err := findNginx(places)
	switch {
	case err == nil:
		o.Program = program
	case asked || o.Program != "":
		return nil, err
	default:
		o.Log.Warn("Ingresses are made, and nobody serves them here", "why", err)
		return []string{Manager}, nil
	}
	if !asked {
		return []string{Manager, Nginx}, nil
	}
	return o.Controllers, nil
}

// findNginx is the path of the first of these programs that there is.
func findNginx(places []string) (string, error) {
	for _, place := range places {
		if path, err := exec.LookPath(place); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("nginx is not installed (apt-get install nginx-light, dnf install nginx, brew install nginx), "+
		"or is elsewhere than at %s", strings.Join(places, ", "))
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

// withPorts puts free ports in place of port 0, each another. Nothing keeps them: somebody who is quick may take one.
func withPorts(addresses ...*string) error {
	for _, address := range addresses {
		if _, port, err := net.SplitHostPort(*address); err != nil || port != "0" {
			continue // nginx says what is wrong with it
		}
		l, err := net.Listen("tcp", *address)
		if err != nil {
			return fmt.Errorf("find a free port for nginx: %w", err)
		}
		defer l.Close() // once all have theirs
		*address = l.Addr().String()
	}
	return nil
}
