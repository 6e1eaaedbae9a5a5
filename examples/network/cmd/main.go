// Command cmd runs the Network controller as a separate program, against any server of the Kubernetes API. It
// may be stopped, killed and restarted at any point without creating a network twice.
//
//	go run ./examples/network/cmd --kubeconfig FILE [--master URL] [--context NAME]
//	  [--provider auto|bridge|record|neutron]
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
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller/why"
	"github.com/bowline-dev/bowline/examples/network"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	klog.SetSlogLogger(log) // logs of client-go
	if err := run(os.Args[1:], log); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

type arguments struct {
	server                 client.Flags
	provider, state, plane string
}

func run(args []string, log *slog.Logger) error {
	a, err := parse(args)
	if err != nil {
		return err
	}
	config, err := a.config()
	if err != nil {
		return err
	}
	folder, err := a.folder()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return network.Run(ctx, network.Options{
		Config: config, Provider: a.provider, Folder: folder, Plane: a.plane, Forward: why.Path, Log: log,
	})
}

func parse(args []string) (a arguments, err error) {
	set := flag.NewFlagSet("network", flag.ContinueOnError)
	a.server.Bind(set)
	set.StringVar(&a.provider, "provider", network.ProviderAuto,
		"`provider` of the networks: auto, bridge (needs root), record, or neutron (OpenStack; set OS_CLOUD or "+
			"OS_AUTH_URL)")
	set.StringVar(&a.state, "state", "",
		"`folder` for the records of the record provider (default: bowline/networks in the user's state folder)")
	set.StringVar(&a.plane, "plane-id", "",
		"`id` that real networks carry (default: the uid of the server's namespace kube-system)")
	if err := set.Parse(args); err != nil {
		return a, err
	}
	if set.NArg() > 0 {
		return a, fmt.Errorf("unexpected argument %q: this program has only flags, see --help", set.Arg(0))
	}
	return a, nil
}

// config loads the client configuration of the server.
func (a arguments) config() (*rest.Config, error) {
	config, err := client.Load(a.server)
	if err != nil {
		return nil, fmt.Errorf("find the server: %w", err)
	}
	config.UserAgent = "bowline-network"
	return config, nil
}

// folder returns the folder for records: --state, or a folder in the XDG state directory.
func (a arguments) folder() (string, error) {
	if a.state != "" {
		return filepath.Abs(a.state)
	}
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no folder for records: set --state (%w)", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "bowline", "networks"), nil
}
