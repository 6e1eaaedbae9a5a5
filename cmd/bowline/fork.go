package main

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/internal/auth/pki"
	"github.com/bowline-dev/bowline/internal/store/backup"
)

// forkFlags are the flags of fork, as given.
type forkFlags struct {
	from, kubeconfig, write string
	controllers             []string
	acceptDamage            bool
	output                  string
}

func forkCommand() *cobra.Command {
	var flags forkFlags
	cmd := &cobra.Command{
		Use:   "fork",
		Short: "Serve a copy of a running server's state, to try out what a change would do",
		Long: `Starts a second server, in memory and on a free port, with the state that a running one has now. What is done to the
fork never reaches its source, which serves on meanwhile; bowline diff-forks says what differs then. The source is the server
that bowline kubectl finds, or that of KUBECONFIG or --kubeconfig; or, with --from, a file of bowline backup. Only
administrators of the source may fork it. The fork ends with this process, and leaves nothing behind.

It runs no controllers, unless --controllers asks for some: without the controller named namespace, for example, namespaces
that are deleted in the fork wait to be emptied. The network controller never runs in a fork: two planes would fight over one
real network.

Exit codes: 0 stopped cleanly; 1 failed, or stopped at once; 2 the command line is wrong.`,
		Example: `  # What would this apply do?
  bowline fork --write-kubeconfig ./fork &
  bowline kubectl --kubeconfig ./fork apply -f change.yaml
  bowline diff-forks ./fork

  # Look into a backup.
  bowline fork --from plane.backup

  # In a script: one line of JSON when the fork is ready.
  bowline fork -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			controllers, err := flags.check()
			if err != nil {
				return err
			}
			return untilSignal(cmd.Context(), func(ctx context.Context) error {
				f := &forking{flags: flags, controllers: controllers, stdin: cmd.InOrStdin(), out: cmd.OutOrStdout(),
					screen: newScreen(cmd.OutOrStdout(), cmd.ErrOrStderr())}
				return f.run(ctx)
			})
		},
	}
	flags.add(cmd)
	return cmd
}

func (f *forkFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.from, "from", "", "`file` of bowline backup to fork, or - for standard input, instead of a running server")
	addKubeconfig(cmd, &f.kubeconfig)
	set.StringVar(&f.write, "write-kubeconfig", "",
		"`file` to write the kubeconfig of the fork to (default: one in a temporary folder)")
	set.StringSliceVar(&f.controllers, "controllers", nil, "`list` of controllers to run in the fork: names, or '*' for all of "+
		strings.Join(knownControllers(), ", ")+" (default: none)")
	set.BoolVar(&f.acceptDamage, "accept-damage", false, "fork although some objects cannot be read, without them")
	addOutput(cmd, &f.output)
	complete(cmd, "controllers", append(knownControllers(), everyController))
}

// check returns the controllers that are asked for, none being an empty list.
func (f *forkFlags) check() ([]string, error) {
	if err := oneOf("output", f.output, outputs); err != nil {
		return nil, err
	}
	switch {
	case f.from != "" && f.kubeconfig != "":
		return nil, usagef("--from names a file and --kubeconfig a server: leave one of them out")
	case slices.Contains(f.controllers, networkController):
		return nil, usagef("the network controller does not run in a fork: two planes would fight over one real network")
	case slices.Contains(f.controllers, ingressController):
		return nil, usagef("the ingress controllers do not run in a fork: two planes would fight over one address")
	case len(f.controllers) == 0:
		return []string{}, nil
	}
	chosen, err := selectControllers(f.controllers, knownControllers())
	return chosen.list, err
}

// forking is a fork on its way.
type forking struct {
	flags       forkFlags
	controllers []string
	stdin       io.Reader
	out         io.Writer
	screen      *screen
}

// forked is what programs are told of a fork that is ready.
type forked struct {
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	Plane      string `json:"plane"`
	Revision   uint64 `json:"revision"`
	Objects    int    `json:"objects"`
}

func (f *forking) run(ctx context.Context) (err error) {
	boundGarbage()
	began := time.Now()
	stream, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	r, err := backup.Open(stream)
	if err != nil {
		return fmt.Errorf("no fork was made: %w", err)
	}
	home, err := forkHome(f.flags.write)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.RemoveKubeconfig(home.kubeconfig), home.close()) }()
	plane, err := f.start(ctx, r, home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	url := "https://" + plane.Addr()
	if err := home.publish(url); err != nil {
		return err
	}
	head := r.Head()
	if err := f.ready(forked{url, home.kubeconfig, head.Plane, uint64(head.Revision), head.Objects}, time.Since(began)); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// open begins to read the source.
func (f *forking) open(ctx context.Context) (io.ReadCloser, error) {
	if f.flags.from != "" {
		return openBackup(f.flags.from, f.stdin)
	}
	return streamOfServer(ctx, f.flags.kubeconfig)
}

// forkHome is what a fork has besides its objects, in a folder that goes with it.
func forkHome(kubeconfig string) (*home, error) {
	h, err := ephemeralHome(pki.Hosts(forkHost))
	if err != nil {
		return nil, err
	}
	h.kubeconfig = cmp.Or(kubeconfig, h.kubeconfig)
	if err := state.RemoveKubeconfig(h.kubeconfig); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// forkHost is where a fork listens: nowhere but on its machine.
const forkHost = "127.0.0.1"

// start serves what is read.
func (f *forking) start(ctx context.Context, r *backup.Reader, home *home) (*bowline.Plane, error) {
	objects := r.Log()
	plane, err := bowline.Start(ctx, bowline.Options{
		Storage:      objects,
		AcceptDamage: f.flags.acceptDamage,
		AsIs:         true,
		Listen:       forkHost + ":0",
		TLS:          home.keys.ServerConfig(),
		Controllers:  f.controllers,
		Log:          slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return nil, fmt.Errorf("no fork was made: %w", err)
	}
	for _, damage := range objects.Nameless {
		if !f.flags.acceptDamage {
			return nil, errors.Join(fmt.Errorf("no fork was made: %w; fork without it with --accept-damage", damage), plane.Close())
		}
		f.screen.line("not forked: " + damage.Error())
	}
	return plane, nil
}

// ready tells people, or a program, how to reach the fork.
func (f *forking) ready(fork forked, after time.Duration) error {
	if f.flags.output == "json" {
		return json.NewEncoder(f.out).Encode(fork)
	}
	to := f.screen
	to.line(to.out.in(strong, "A fork serves the Kubernetes API at "+fork.Server) + fmt.Sprintf(" (ready in %s)", rounded(after)))
	to.line(fmt.Sprintf("It has the %d objects of the plane %s at revision %d, in memory. Nothing in it reaches its source.",
		fork.Objects, fork.Plane, fork.Revision))
	to.line("")
	to.line("    export KUBECONFIG=" + quoted(fork.Kubeconfig))
	to.line("    bowline diff-forks    # what differs by then")
	to.line("")
	return nil
}
