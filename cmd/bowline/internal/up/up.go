// Package up implements bowline up, which serves a plane until it receives a signal.
package up

import (
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/serve"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
)

// upFlags holds the parsed flags of bowline up.
type upFlags struct {
	listen          string
	data            string
	kubeconfig      string
	controllers     []string
	files           []string
	nodes           int
	networkProvider string
	ingress         ingressFlags
	ephemeral       bool
	acceptDamage    bool
	logFormat       string
	verbose         bool
}

var (
	networkProviders = []string{"auto", "bridge", "record", "neutron"}
	logFormats       = []string{"text", "json"}
)

const upHelp = `Serves the Kubernetes API over HTTPS, runs controllers, and applies what -f names. It prints where it listens and the
kubeconfig to use, then a line for each declared object as it becomes true: Established for a definition, Available for a
deployment on simulated nodes, Ready for what has that condition, stored for the rest. It runs until SIGINT, SIGTERM or,
where the terminal is closed, SIGHUP; a second signal stops it at once.

What is declared is kept on disk, in the state folder: a write is answered when it is durable, and a server that is
started again, after whatever end, goes on where the last one stopped. The folder is --data, or else $XDG_STATE_HOME/bowline
(~/.local/state/bowline), and holds the certificates, the kubeconfig and the plane's identity too. One server at a time
may use it. The kubeconfig is removed first and written once the server is ready, so that a script may wait for it.
bowline kubectl looks into the user's own folder; a server with another --data it finds by KUBECONFIG, as any client does.

Kept objects that cannot be read any more, since the disk or somebody damaged them, are named, and nothing is served,
unless --accept-damage says to go on without them. Nothing of them is removed but by deleting them. The same holds for the
last writes, where they were answered and are not there. A folder whose objects are gone is not begun anew.

Where OTEL_EXPORTER_OTLP_ENDPOINT names a collector of OpenTelemetry, each request is traced there, stage by stage.

Exit codes: 0 stopped cleanly; 1 failed, or stopped at once; 2 the command line is wrong.`

const upExamples = `  # Serve on https://127.0.0.1:6443, with the controllers that are on by default.
  bowline up

  # Declare networks and make them real: as bridges where that is permitted, else as records.
  bowline up --controllers='*,network' -f examples/network

  # Have nginx route requests to the services that ask for it.
  bowline up --controllers='*,ingress' -f examples/ingress/example

  # Keep everything in a folder of its own, and speak to that server.
  bowline up --data ./plane --listen 127.0.0.1:7443
  KUBECONFIG=./plane/kubeconfig bowline kubectl get namespaces

  # In a test: any free port, nothing left behind, and a kubeconfig to wait for.
  bowline up --ephemeral --listen 127.0.0.1:0 --kubeconfig ./kubeconfig

  # Send a trace of each request to a collector on this machine.
  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 bowline up

  # Have pods that are bound to node-0, node-1 or node-2 go through their lives, without anything running there.
  bowline up --nodes 3

  # Declare what another program prints.
  helm template ./chart | bowline up -f -`

// Command returns the bowline up command. The parameter started is the start time of the process.
func Command(started time.Time) *cobra.Command {
	var flags upFlags
	cmd := &cobra.Command{
		Use:     "up",
		Short:   "Serve the Kubernetes API and make true what is declared, until stopped",
		Long:    upHelp,
		Example: upExamples,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("data") && flags.data == "" {
				return cli.Usagef("--data is empty: name a folder, or leave it out")
			}
			plan, err := flags.plan()
			if err != nil {
				return err
			}
			if err := flags.ingress.check(cmd, plan.controllers.Ingress); err != nil {
				return err
			}
			plan.started, plan.stdin = started, cmd.InOrStdin()
			plan.screen = terminal.NewScreen(cmd.OutOrStdout(), cmd.ErrOrStderr())
			level := slog.LevelInfo
			if flags.verbose {
				level = slog.LevelDebug
			}
			plan.log = terminal.NewLogger(plan.screen, flags.logFormat, level)
			klog.SetSlogLogger(plan.log) // client-go logs through klog
			return cli.UntilSignal(cmd.Context(), plan.run)
		},
	}
	flags.add(cmd)
	return cmd
}

func (f *upFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.listen, "listen", "127.0.0.1:6443", "`address` to serve HTTPS on; port 0 takes any free one")
	set.StringVar(&f.data, "data", "",
		"`folder` to keep everything in, made where it is missing (default: the user's state folder)")
	set.StringVar(&f.kubeconfig, "kubeconfig", "",
		"`file` to write the kubeconfig to; one that bowline up did not write is never replaced (default: kubeconfig in the state folder)")
	set.StringSliceVar(&f.controllers, "controllers", []string{serve.AllControllers},
		"`list` of controllers: a name turns one on, -name off, '*' all that are on by default, which "+
			strings.Join(serve.ExampleControllers, " and ")+" are not; known are "+
			strings.Join(append(serve.KnownControllers(), serve.ExampleControllers...), ", "))
	set.StringArrayVarP(&f.files, "file", "f", nil,
		"`file`, folder or - (standard input) to declare; repeatable; folders with all below them but testdata")
	set.IntVar(&f.nodes, "nodes", 0,
		"how many simulated nodes to run, which give pods the status of pods that run, and run nothing; `count`")
	set.StringVar(&f.networkProvider, "network-provider", networkProviders[0],
		"what the network controller makes networks with, the `provider`: "+strings.Join(networkProviders, ", "))
	f.ingress.add(cmd)
	set.BoolVar(&f.ephemeral, "ephemeral", false,
		"keep everything in memory and in a temporary folder that is removed at the end, with the networks that were made")
	set.BoolVar(&f.acceptDamage, "accept-damage", false,
		"serve although some kept objects cannot be read, which are not served and can be deleted, or the last writes are lost")
	set.StringVar(&f.logFormat, "log-format", logFormats[0],
		"`format` of the log on standard error: "+strings.Join(logFormats, ", "))
	set.BoolVarP(&f.verbose, "verbose", "v", false, "log details too")
	cli.CompleteFlag(cmd, "network-provider", networkProviders)
	cli.CompleteFlag(cmd, "log-format", logFormats)
	cli.CompleteFlag(cmd, "controllers",
		append(append(serve.KnownControllers(), serve.ExampleControllers...), serve.AllControllers))
}

// plan validates the flags and returns the resulting plan.
func (f *upFlags) plan() (*plan, error) {
	if err := cli.OneOf("network-provider", f.networkProvider, networkProviders); err != nil {
		return nil, err
	}
	if err := cli.OneOf("log-format", f.logFormat, logFormats); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(f.listen)
	if _, notPort := strconv.ParseUint(port, 10, 16); err == nil && notPort != nil {
		err = fmt.Errorf("%q is no port", port)
	}
	if err != nil {
		return nil, cli.Usagef("--listen is %q: it must be an address and a port, as in 127.0.0.1:6443 (%w)", f.listen,
			err)
	}
	if f.data != "" && f.ephemeral {
		return nil, cli.Usagef("--data %s names a folder to keep, and --ephemeral keeps nothing: leave one of them out",
			f.data)
	}
	if f.nodes < 0 || f.nodes > maxNodes {
		return nil, cli.Usagef("--nodes is %d: it must be from 0 to %d", f.nodes, maxNodes)
	}
	if f.acceptDamage && f.ephemeral {
		return nil,
			cli.Usagef("--accept-damage is about objects that were kept, and --ephemeral keeps none: leave one of them out")
	}
	controllers, err := serve.SelectControllers(f.controllers, serve.KnownControllers())
	if err != nil {
		return nil, err
	}
	if err := manifest.Check(f.files); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return &plan{flags: *f, host: host, controllers: controllers}, nil
}
