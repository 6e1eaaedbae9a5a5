package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/why"
)

// whyFlags are the flags of why, as given.
type whyFlags struct {
	kubeconfig, namespace, output string
	last                          int
}

func whyCommand() *cobra.Command {
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
			if err := oneOf("output", flags.output, outputs); err != nil {
				return err
			}
			if flags.last < 1 {
				return usagef("--last is %d: it must be at least 1", flags.last)
			}
			return untilSignal(cmd.Context(), func(ctx context.Context) error { return flags.run(ctx, cmd.OutOrStdout(), args) })
		},
		ValidArgsFunction: flags.complete,
	}
	set := cmd.Flags()
	set.StringVarP(&flags.namespace, "namespace", "n", "", "`namespace` of the object (default: that of the kubeconfig)")
	set.IntVar(&flags.last, "last", 10, "`number` of the object's runs to begin with")
	addOutput(cmd, &flags.output)
	addKubeconfig(cmd, &flags.kubeconfig)
	return cmd
}

func (f *whyFlags) run(ctx context.Context, to io.Writer, args []string) error {
	asked, err := typeAndName(args)
	if err != nil {
		return err
	}
	server, err := f.server()
	if err != nil {
		return err
	}
	var about why.Object
	if asked != nil {
		if about, err = server.find(asked.resource, asked.name); err != nil {
			return err
		}
	}
	report, err := server.ask(ctx, about, f.last)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return printJSON(to, report)
	}
	if len(report.Runs) == 0 && asked != nil {
		if err := server.exists(ctx, about); err != nil {
			return err
		}
	}
	return printWhy(newTerminal(to), report)
}

// named is an object as a command line names it.
type named struct{ resource, name string }

// typeAndName reads TYPE/NAME, or TYPE NAME as kubectl reads it too; nil for neither.
func typeAndName(args []string) (*named, error) {
	if len(args) == 0 {
		return nil, nil
	}
	resource, name, ok := strings.Cut(args[0], "/")
	switch {
	case ok && len(args) > 1:
		return nil, usagef("ask about one object at a time: %q and %q are two", args[0], args[1])
	case !ok && len(args) > 1:
		name, ok = args[1], true
	}
	if !ok || resource == "" || name == "" || strings.Contains(name, "/") {
		return nil, usagef("%q names no object: give TYPE/NAME, such as network/example-network", strings.Join(args, " "))
	}
	return &named{resource, name}, nil
}

// nothingKnown says that no controller has looked at an object.
func nothingKnown(about why.Object) string {
	if about == (why.Object{}) {
		return "No controller has done anything yet, as far as the server knows."
	}
	return fmt.Sprintf("Nothing is known of %s: no controller that tells the server has looked at it lately.", about)
}
