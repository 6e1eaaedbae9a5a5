// Package program runs the bowline command line, with the names of all commands. Package main calls it, and so do
// tests that run their own binary as bowline.
package program

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/assets"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/backup"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/controllers"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/doctor"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/fork"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/kubectl"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/newproject"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/up"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/version"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/why"
)

// Main runs the program that the arguments of this process name, and ends the process.
func Main() {
	started := up.ProcessStart(time.Now())
	if args, ok := kubectl.Arguments(os.Args[0], os.Args[1:]); ok {
		kubectl.Run(args)
		return
	}
	if program, ok := assets.StandIn(os.Args[0]); ok {
		os.Exit(assets.RunStandIn(program, os.Args[1:]))
	}
	os.Exit(run(started, os.Args[1:]))
}

// run executes the command line and returns the exit code.
func run(started time.Time, args []string) int {
	root := rootCommand(started)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return cli.ExitOK
	}
	if errors.Is(err, cli.ErrFound) { // the command has printed the findings
		return cli.ExitFound
	}
	terminal.PrintError(os.Stderr, err)
	var usage *cli.UsageError
	if errors.As(err, &usage) {
		return cli.ExitUsage
	}
	return cli.ExitFailure
}

// rootCommand returns the bowline command with all subcommands.
func rootCommand(started time.Time) *cobra.Command {
	root := &cobra.Command{
		Use:   "bowline",
		Short: "Kubernetes' API and control loop, without a cluster",
		Long: `Bowline serves the Kubernetes API from one process, stores the objects that you declare, and
runs the controllers that act on them. There are no nodes. Unmodified kubectl, client-go and
Helm work with it.

Exit codes: 0 success, or stopped cleanly; 1 failure, or stopped at once by a second signal;
2 invalid command line. bowline kubectl exits with kubectl's exit codes.`,
		Example: `  # Serve, run the network controller too, and apply the manifests in a folder.
  bowline up --controllers='*,network' -f examples/network

  # In a second terminal.
  bowline kubectl get networks -A`,
		Args:          cli.KnownSubcommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usagef("%w (see %s --help)", err, cmd.CommandPath())
	})
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".LocalFlags.FlagUsages",
		"(.LocalFlags.FlagUsagesWrapped 100)"))
	root.AddCommand(up.Command(started), kubectl.Command(), backup.Command(), backup.RestoreCommand(),
		backup.VerifyCommand(),
		fork.Command(), fork.DiffCommand(), why.Command(), controllers.Command(), doctor.Command(),
		newproject.Command(), assets.Command(), version.Command())
	explainCompletion(root)
	cli.ReportUsageErrors(root)
	return root
}

// explainCompletion adds examples to the completion command that cobra generates.
func explainCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Example = `  # In the current shell.
  source <(bowline completion bash)

  # How to install completion permanently.
  bowline completion zsh --help`
	}
}
