// Package assets implements bowline assets, and runs bowline in place of kube-apiserver and etcd.
package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/standin"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
)

const assetsHelp = `Creates a folder with the programs kube-apiserver, etcd and kubectl for tests that use
controller-runtime's envtest. If KUBEBUILDER_ASSETS is set to the folder, the unmodified
tests run with bowline. The programs are links to this binary, or to a copy of it if go run
built it; the binary checks the name by which it is called. The command prints the export
line for a shell.

This kube-apiserver keeps its objects in memory. A flag that asks for a feature that bowline
lacks is rejected before the server starts. Members of system:masters may do everything,
other users what the roles grant that a test creates; Kubernetes' own roles do not exist.
kube-apiserver and etcd end within about a second of the process that started them, so that
a killed test leaves no process behind. docs/testing.md has the details.

Exit codes: 0 success; 1 failure; 2 invalid command line.`

// Command returns the bowline assets command.
func Command() *cobra.Command {
	return &cobra.Command{
		Use:   "assets FOLDER",
		Short: "Create the folder of binaries that envtest needs",
		Long:  assetsHelp,
		Example: `  # In the shell that runs the tests.
  eval "$(bowline assets ./bin/envtest)"
  go test ./...

  # In a Makefile.
  KUBEBUILDER_ASSETS=$(CURDIR)/bin/envtest go test ./...`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return makeAssets(cmd.OutOrStdout(), args[0]) },
	}
}

func makeAssets(to io.Writer, folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the bowline binary: %w", err)
	}
	if err := standin.Link(binary, folder); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "export KUBEBUILDER_ASSETS='%s'\n", strings.ReplaceAll(folder, "'", `'\''`))
	return err
}

// StandIn returns the function that runs bowline as kube-apiserver or etcd, if program has one of these
// names.
func StandIn(program string) (run func(context.Context, []string, io.Writer, io.Writer) error, ok bool) {
	switch filepath.Base(program) {
	case standin.APIServerName:
		return standin.APIServer, true
	case standin.EtcdName:
		return standin.Etcd, true
	}
	return nil, false
}

// shutdownGrace is the time that a program gets to end after a signal. It suffices to answer requests in
// flight. Open client connections are not waited for, because no state outlives the process.
const shutdownGrace = 100 * time.Millisecond

// RunStandIn runs a function returned by StandIn until it fails, a signal arrives, or the parent process
// ends. It returns the exit code.
func RunStandIn(run func(context.Context, []string, io.Writer, io.Writer) error, args []string) int {
	err := cli.UntilSignal(context.Background(), func(ctx context.Context) (err error) {
		ctx, stop := standin.WhileParentLives(ctx)
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, args, os.Stdout, os.Stderr) }()
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
		}
		select {
		case err = <-ended:
		case <-time.After(shutdownGrace):
		}
		if cause := context.Cause(ctx); errors.Is(cause, standin.ErrOrphaned) {
			return cause
		}
		return err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, terminal.Paragraph(err))
		return cli.ExitFailure
	}
	return cli.ExitOK
}
