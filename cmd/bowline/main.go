// Command bowline is the declarative API and the control loop of Kubernetes, without the cluster.
//
//	bowline up        serves the API of this machine's plane, and makes true what is declared
//	bowline kubectl   is kubectl; called as kubectl (by a symbolic link), bowline is it too
//	bowline backup    writes the state of a server to a file; bowline restore makes a folder of it
//	bowline verify    looks through a state for what is wrong
//	bowline fork      serves a copy of a server's state; bowline diff-forks says what differs then
//	bowline new       makes the project of a controller of a kind of one's own
//	bowline why       says why controllers did what they did to an object; bowline controllers shows each of them
//	bowline doctor    says what hangs, and who keeps it
//	bowline assets    makes the folder of kube-apiserver, etcd and kubectl that suites with envtest ask for; called as
//	                  one of them (by a symbolic link), bowline is it too
//	bowline version   says what this is
//
// It is the library (package bowline) with what a process needs around it: flags, a state folder, certificates, a
// kubeconfig, signals. No other package imports kubectl or writes a kubeconfig.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Exit codes, as the help of the root command documents them.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	exitFound   = 3 // by verify, diff-forks and doctor alone, whose help documents it
)

func main() {
	started := processStart(time.Now())
	if args, ok := asKubectl(os.Args[0], os.Args[1:]); ok {
		runKubectl(args)
		return
	}
	if program, ok := asStandIn(os.Args[0]); ok {
		os.Exit(runStandIn(program, os.Args[1:]))
	}
	os.Exit(run(started, os.Args[1:]))
}

// run executes the command line and returns the exit code.
func run(started time.Time, args []string) int {
	root := rootCommand(started)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errFound) { // and has been printed
		return exitFound
	}
	fmt.Fprintf(os.Stderr, "bowline: %v\n", err)
	var usage *usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailure
}

// errFound is the end of a command that looked for something and found it.
var errFound = errors.New("something was found")

// usageError is a command line that cannot be run as it stands.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

func rootCommand(started time.Time) *cobra.Command {
	root := &cobra.Command{
		Use:   "bowline",
		Short: "The declarative API and the control loop of Kubernetes, without the cluster",
		Long: `Bowline serves the Kubernetes API from one process, keeps what you declare, and runs the controllers that make it
true. There is no cluster and there are no nodes: unmodified kubectl, client-go and Helm talk to it.

Exit codes: 0 done, or stopped cleanly; 1 failed, or stopped at once by a second signal; 2 the command line is wrong.
bowline kubectl exits as kubectl does.`,
		Example: `  # Serve, run the network controller too, and declare what is in a folder.
  bowline up --controllers='*,network' -f examples/network

  # In a second terminal.
  bowline kubectl get networks -A`,
		Args:          commandIsKnown,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w (see %s --help)", err, cmd.CommandPath())
	})
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".LocalFlags.FlagUsages", "(.LocalFlags.FlagUsagesWrapped 110)"))
	root.AddCommand(upCommand(started), kubectlCommand(), backupCommand(), restoreCommand(), verifyCommand(),
		forkCommand(), diffForksCommand(), whyCommand(), controllersCommand(), doctorCommand(), newCommand(), assetsCommand(), versionCommand())
	explainCompletion(root)
	asUsageErrors(root)
	return root
}

// explainCompletion adds examples to the command that cobra makes.
func explainCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Example = `  # In this shell, until it ends.
  source <(bowline completion bash)

  # In every shell from now on: what your shell reads, and where it is.
  bowline completion zsh --help`
	}
}

// commandIsKnown refuses what no command is called, and says which one may have been meant.
func commandIsKnown(root *cobra.Command, args []string) error {
	err := cobra.NoArgs(root, args)
	if err == nil {
		return nil
	}
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%w: did you mean %s?", err, strings.Join(near, " or "))
	}
	return err
}

// asUsageErrors makes wrong arguments exit as wrong flags do.
func asUsageErrors(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usagef("%w (see %s --help)", err, cmd.CommandPath())
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		asUsageErrors(child)
	}
}
