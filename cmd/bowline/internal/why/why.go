// Package why implements bowline why, which prints the journal of controllers about an object.
package why

import (
	"context"
	"fmt"
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
		Short: "Say why controllers did what they did to an object",
		Long: `Prints the last times that controllers looked at an object: what caused it, what was compared, what was done, how long it
took, and what that led to, in other controllers too. TYPE is any name that kubectl knows: plural, singular, short, with or
without its group. Without TYPE/NAME it is everything that happened lately.

The server keeps this in memory, for the newest runs of each object. Controllers of other processes tell it theirs when they
are built to (docs/why.md). Controllers that write without changing anything, or that undo each other's work, are named as a
hot loop. Only administrators may ask.

Exit codes: 0 told, also when nothing is known; 1 failed, or there is no such object; 2 the command line is wrong.`,
		Example: `  # Why is this network as it is?
  bowline why network/example-network

  # Of a resource of one of several groups of that name, in another namespace, for a program.
  bowline why -n dev networks.samplecrd.k8s.io/a -o json

  # The last ten things that happened, whatever they were about.
  bowline why --last 10`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.OneOf("output", flags.output, cli.Outputs); err != nil {
				return err
			}
			if flags.last < 1 {
				return cli.Usagef("--last is %d: it must be at least 1", flags.last)
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
	set.IntVar(&flags.last, "last", 10, "`number` of the object's runs to begin with")
	cli.AddOutput(cmd, &flags.output)
	cli.AddKubeconfig(cmd, &flags.kubeconfig)
	return cmd
}

func (f *whyFlags) run(ctx context.Context, to io.Writer, args []string) error {
	asked, err := typeAndName(args)
	if err != nil {
		return err
	}
	server, err := connect.Dial(f.kubeconfig, f.namespace)
	if err != nil {
		return err
	}
	var about why.Object
	if asked != nil {
		if about, err = server.Resolve(asked.resource, asked.name); err != nil {
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
	if len(report.Runs) == 0 && asked != nil {
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
		return nil, cli.Usagef("ask about one object at a time: %q and %q are two", args[0], args[1])
	case !ok && len(args) > 1:
		name, ok = args[1], true
	}
	if !ok || resource == "" || name == "" || strings.Contains(name, "/") {
		return nil, cli.Usagef("%q names no object: give TYPE/NAME, such as network/example-network",
			strings.Join(args, " "))
	}
	return &objectName{resource, name}, nil
}

// noRunsMessage returns the message for an empty journal.
func noRunsMessage(about why.Object) string {
	if about == (why.Object{}) {
		return "No controller has done anything yet, as far as the server knows."
	}
	return fmt.Sprintf("Nothing is known of %s: no controller that tells the server has looked at it lately.", about)
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
