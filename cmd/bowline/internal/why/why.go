// Package why implements bowline why, which prints the journal of controllers about an object.
package why

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/completion"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/connect"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/why"
)

// whyFlags holds the parsed flags of bowline why.
type whyFlags struct {
	kubeconfig, namespace, output string
	last                          int
}

// Command returns the bowline why command.
func Command() *cobra.Command {
	var flags whyFlags
	cmd := &cobra.Command{
		Use:   "why [TYPE/NAME]",
		Short: "Explain what controllers did to an object, and why",
		Long: `Prints the last runs of controllers for an object: what caused each run, what it compared
and wrote, how long it took, and which runs of other controllers it caused. TYPE is any name
that kubectl accepts: plural, singular or short, with or without its group. Without
TYPE/NAME, all recent runs are printed.

The server keeps the newest runs of each object in memory. Controllers in other processes
can report their runs too (docs/why.md). Controllers that write without changing anything,
or that undo each other's writes, are reported as a hot loop. Only administrators may use
this command.

Exit codes: 0 success, even if no run is known; 1 failure, or the object does not exist; 2
invalid command line.`,
		Example: `  # Why is this network in its current state?
  bowline why network/example-network

  # A resource name with its group, in another namespace, as JSON.
  bowline why -n dev networks.samplecrd.k8s.io/a -o json

  # The last ten runs of any controller.
  bowline why --last 10`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.OneOf("output", flags.output, cli.Outputs); err != nil {
				return err
			}
			if flags.last < 1 {
				return cli.Usagef("invalid --last %d: must be at least 1", flags.last)
			}
			return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error {
				return flags.run(ctx, cmd.OutOrStdout(), args)
			})
		},
		ValidArgsFunction: flags.complete,
	}
	set := cmd.Flags()
	set.StringVarP(&flags.namespace, "namespace", "n", "",
		"`namespace` of the object (default: that of the kubeconfig)")
	set.IntVar(&flags.last, "last", 10, "`number` of runs to print")
	cli.AddOutput(cmd, &flags.output)
	cli.AddKubeconfig(cmd, &flags.kubeconfig)
	return cmd
}

func (f *whyFlags) run(ctx context.Context, to io.Writer, args []string) error {
	named, err := typeAndName(args)
	if err != nil {
		return err
	}
	server, err := connect.Dial(f.kubeconfig, f.namespace)
	if err != nil {
		return err
	}
	var about why.Object
	if named != nil {
		if about, err = server.Resolve(named.resource, named.name); err != nil {
			return err
		}
	}
	report, err := server.Report(ctx, about, f.last)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return cli.PrintJSON(to, report)
	}
	if len(report.Runs) == 0 && named != nil {
		if err := server.CheckExists(ctx, about); err != nil {
			return err
		}
	}
	return printReport(terminal.New(to), report)
}

// objectName is an object as named on the command line.
type objectName struct{ resource, name string }

// typeAndName parses TYPE/NAME, or TYPE NAME, which kubectl accepts too. It returns nil if there are no
// arguments.
func typeAndName(args []string) (*objectName, error) {
	if len(args) == 0 {
		return nil, nil
	}
	resource, name, ok := strings.Cut(args[0], "/")
	switch {
	case ok && len(args) > 1:
		return nil, cli.Usagef("only one object is accepted: got %q and %q", args[0], args[1])
	case !ok && len(args) > 1:
		name, ok = args[1], true
	}
	if !ok || resource == "" || name == "" || strings.Contains(name, "/") {
		return nil, cli.Usagef("invalid object %q: must be TYPE/NAME, such as network/example-network",
			strings.Join(args, " "))
	}
	return &objectName{resource, name}, nil
}

// noRunsMessage returns the message for an empty journal.
func noRunsMessage(about why.Object) terminal.Text {
	if about == (why.Object{}) {
		return "The server knows of no run of a controller."
	}
	return terminal.Sprintf("No run is known for %s: no controller that reports to the server has reconciled it lately.",
		about)
}

// complete completes the server's resource types and the names of their objects.
func (f *whyFlags) complete(cmd *cobra.Command, args []string,
	word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	access, err := connect.NewFactory(f.kubeconfig, f.namespace)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completion.ResourceTypeAndNameCompletionFunc(access)(cmd, args, word)
}
