// Command cmd runs the Ingress example as a separate program, against any server of the Kubernetes API. It
// may be stopped, killed and restarted at any point.
//
//	go run ./examples/ingress/cmd [--kubeconfig FILE] [--controllers manager,nginx] [--http ADDRESS] [--https ADDRESS]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller/why"
	"github.com/bowline-dev/bowline/examples/ingress"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	klog.SetSlogLogger(log) // logs of client-go
	if err := run(os.Args[1:], log); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string, log *slog.Logger) error {
	o, server, err := parse(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if o.Config, err = reach(ctx, server); err != nil {
		return err
	}
	o.Forward, o.Log = why.Path, log
	return ingress.Run(ctx, o)
}

func parse(args []string) (o ingress.Options, server client.Flags, err error) {
	set := flag.NewFlagSet("ingress", flag.ContinueOnError)
	server.Bind(set)
	choose := func(list string) error {
		for name := range strings.SplitSeq(list, ",") {
			o.Controllers = append(o.Controllers, strings.TrimSpace(name))
		}
		return nil
	}
	set.Func("controllers", "`list` of controllers (default: manager,nginx; manager alone where there is no nginx)",
		choose)
	set.StringVar(&o.Class, "class", "nginx", "`name` of the IngressClass")
	set.StringVar(&o.Program, "nginx", "", "nginx's `program` (default: the one that the machine has)")
	set.StringVar(&o.HTTP, "http", "127.0.0.1:8080",
		"`address` that nginx serves HTTP on; port 0 selects a free port, empty disables HTTP")
	set.StringVar(&o.HTTPS, "https", "127.0.0.1:8443", "`address` that nginx serves HTTPS on")
	set.StringVar(&o.Folder, "folder", "",
		"`folder` for nginx's files (default: bowline/ingress in the user's state folder)")
	if err := set.Parse(args); err != nil {
		return o, server, err
	}
	if set.NArg() > 0 {
		return o, server, fmt.Errorf("unexpected argument %q: this program has only flags, see --help", set.Arg(0))
	}
	o.Folder, err = folder(o.Folder)
	return o, server, err
}

// reach loads the client configuration and checks that the server answers.
func reach(ctx context.Context, server client.Flags) (*rest.Config, error) {
	config, err := client.Load(server)
	if err != nil {
		return nil, fmt.Errorf("find the server: %w; or start one, with: go run ./cmd/bowline up", err)
	}
	config.UserAgent = "bowline-ingress"
	c, err := client.New(config)
	if err != nil {
		return nil, err
	}
	_, err = c.Ping(ctx)
	return config, err
}

// folder returns the folder for nginx's files: --folder, or a folder in the XDG state directory.
func folder(flag string) (string, error) {
	if flag != "" {
		return filepath.Abs(flag)
	}
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no folder for nginx's files: set --folder (%w)", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "bowline", "ingress"), nil
}
