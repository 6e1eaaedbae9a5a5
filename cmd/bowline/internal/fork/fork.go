// Package fork implements bowline fork and diff-forks.
package fork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/serve"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/source"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/auth/pki"
	"github.com/bowline-dev/bowline/internal/store/backup"
)

// forkFlags holds the parsed flags of bowline fork.
type forkFlags struct {
	from, kubeconfig, write string
	controllers             []string
	acceptDamage            bool
	output                  string
}

// Command returns the bowline fork command.
func Command() *cobra.Command {
	var flags forkFlags
	cmd := &cobra.Command{
		Use:   "fork",
		Short: "Serve a copy of a running server's state, to try out changes",
		Long: `Starts a second server, in memory and on a free port, with the current state of a running
one. Changes to the fork never reach its source, which continues to serve; bowline
diff-forks compares the two. The source is the server that bowline kubectl uses, or the one
that KUBECONFIG or --kubeconfig names, or, with --from, a file written by bowline backup.
Only administrators of the source may fork it. The fork ends with this process and leaves
nothing behind.

A fork runs no controllers unless --controllers lists some. Without the controller named
namespace, for example, namespaces that are deleted in the fork remain in the phase
Terminating. The network controller never runs in a fork, because two planes would configure
the same real network.

Exit codes: 0 stopped cleanly; 1 failure, or stopped at once; 2 invalid command line.`,
		Example: `  # What would this apply change?
  bowline fork --write-kubeconfig ./fork &
  bowline kubectl --kubeconfig ./fork apply -f change.yaml
  bowline diff-forks ./fork

  # Inspect a backup.
  bowline fork --from plane.backup

  # In a script: print one line of JSON when the fork is ready.
  bowline fork -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			controllers, err := flags.check()
			if err != nil {
				return err
			}
			return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error {
				f := &forkRun{flags: flags, controllers: controllers, stdin: cmd.InOrStdin(), out: cmd.OutOrStdout(),
					screen: terminal.NewScreen(cmd.OutOrStdout(), cmd.ErrOrStderr())}
				return f.run(ctx)
			})
		},
	}
	flags.add(cmd)
	return cmd
}

func (f *forkFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.from, "from", "",
		"fork a `file` of bowline backup, or standard input (-), instead of a running server")
	cli.AddKubeconfig(cmd, &f.kubeconfig)
	set.StringVar(&f.write, "write-kubeconfig", "",
		"`file` for the kubeconfig of the fork (default: a file in a temporary folder)")
	set.StringSliceVar(&f.controllers, "controllers", nil,
		"`list` of controllers to run in the fork: names, or '*' for all of "+
			strings.Join(serve.KnownControllers(), ", ")+" (default: none)")
	set.BoolVar(&f.acceptDamage, "accept-damage", false, "fork without the objects that cannot be read")
	cli.AddOutput(cmd, &f.output)
	cli.CompleteFlag(cmd, "controllers", append(serve.KnownControllers(), serve.AllControllers))
}

// check validates the flags and returns the controllers to run. The list is empty, not nil, if there are
// none.
func (f *forkFlags) check() ([]string, error) {
	if err := cli.OneOf("output", f.output, cli.Outputs); err != nil {
		return nil, err
	}
	switch {
	case f.from != "" && f.kubeconfig != "":
		return nil, cli.Usagef("--from and --kubeconfig exclude each other: omit one of them")
	case slices.Contains(f.controllers, serve.NetworkController):
		return nil,
			cli.Usagef("the network controller does not run in a fork: two planes would configure the same real " +
				"network")
	case slices.Contains(f.controllers, serve.IngressController):
		return nil, cli.Usagef("the ingress controllers do not run in a fork: two planes would use the same address")
	case len(f.controllers) == 0:
		return []string{}, nil
	}
	chosen, err := serve.SelectControllers(f.controllers, serve.KnownControllers())
	return chosen.List, err
}

// forkRun is one run of bowline fork.
type forkRun struct {
	flags       forkFlags
	controllers []string
	stdin       io.Reader
	out         io.Writer
	screen      *terminal.Screen
}

// forkInfo describes a ready fork in the JSON output.
type forkInfo struct {
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	Plane      string `json:"plane"`
	Revision   uint64 `json:"revision"`
	Objects    int    `json:"objects"`
}

func (f *forkRun) run(ctx context.Context) (err error) {
	serve.LimitMemory()
	serve.LimitGarbage()
	start := time.Now()
	stream, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	r, err := backup.Open(stream)
	if err != nil {
		return fmt.Errorf("no fork was created: %w", err)
	}
	home, err := openHome(f.flags.write)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.RemoveKubeconfig(home.Kubeconfig), home.Close()) }()
	plane, err := f.start(ctx, r, home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	url := "https://" + plane.Addr()
	if err := home.Publish(url); err != nil {
		return err
	}
	head := r.Head()
	if err := f.announce(forkInfo{url, home.Kubeconfig, head.Plane, uint64(head.Revision), head.Objects},
		time.Since(start)); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// open opens the source: the file of --from, or the state of a running server.
func (f *forkRun) open(ctx context.Context) (io.ReadCloser, error) {
	if f.flags.from != "" {
		return source.OpenFile(f.flags.from, f.stdin)
	}
	return source.OpenServer(ctx, f.flags.kubeconfig)
}

// openHome creates a temporary folder for the certificates and the kubeconfig of the fork. The caller closes
// it, which removes the folder.
func openHome(kubeconfig string) (*serve.Home, error) {
	h, err := serve.OpenEphemeral(pki.Hosts(forkHost))
	if err != nil {
		return nil, err
	}
	h.Kubeconfig = cmp.Or(kubeconfig, h.Kubeconfig)
	if err := state.RemoveKubeconfig(h.Kubeconfig); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// forkHost is the address a fork listens on: the loopback interface only.
const forkHost = "127.0.0.1"

// start starts a plane with the objects read by r.
func (f *forkRun) start(ctx context.Context, r *backup.Reader, home *serve.Home) (*bowline.Plane, error) {
	objects := r.Log()
	plane, err := bowline.Start(ctx, bowline.Options{
		Storage:       objects,
		AcceptDamage:  f.flags.acceptDamage,
		SkipBootstrap: true,
		Listen:        forkHost + ":0",
		TLS:           home.Certificates.ServerConfig(),
		Controllers:   serve.PlaneControllers(f.controllers),
		Admission:     serve.Selection{List: f.controllers}.Admission(nil),
		Logger:        slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return nil, fmt.Errorf("no fork was created: %w", err)
	}
	for _, damage := range objects.Nameless {
		if !f.flags.acceptDamage {
			return nil, errors.Join(fmt.Errorf("no fork was created: %w; fork without it with --accept-damage", damage),
				plane.Close())
		}
		f.screen.Println(terminal.Sprintf("not forked: %s", damage))
	}
	return plane, nil
}

// announce prints how to reach the fork, as text or JSON.
func (f *forkRun) announce(fork forkInfo, after time.Duration) error {
	if f.flags.output == "json" {
		return cli.PrintJSONLine(f.out, fork)
	}
	to := f.screen
	to.Println(to.Out.Color(terminal.Bold, terminal.Sprintf("A fork serves the Kubernetes API at %s", fork.Server)) +
		terminal.Sprintf(" (ready in %s)", terminal.RoundDuration(after)))
	to.Println(terminal.Sprintf("It has the %d objects of the plane %s at revision %d, in memory. Its changes do not "+
		"affect that plane.",
		fork.Objects, fork.Plane, fork.Revision))
	to.Println("")
	to.Println("    export KUBECONFIG=" + terminal.ShellQuote(fork.Kubeconfig))
	to.Println("    bowline diff-forks    # compare the fork with its source")
	to.Println("")
	return nil
}
