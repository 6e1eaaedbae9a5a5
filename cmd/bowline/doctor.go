package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/resources"
)

// doctorFlags are the flags of doctor, as given.
type doctorFlags struct {
	kubeconfig, output string
	after              time.Duration
}

func doctorCommand() *cobra.Command {
	var flags doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what hangs in a server, and who keeps it",
		Long: `Looks through a server for what waits for somebody who does not come, and names both:

  - objects that are being deleted, and the finalizers on them that nobody removes;
  - objects that initializers have still to act on, and the first of these, for which the others wait;
  - webhooks that do not answer, and the writes that they hold up;
  - workloads whose selectors fight over the same pods, and pods that two disruption budgets guard, so that they cannot be
    evicted;
  - groups of the API that do not say what they have, so that no deleted namespace is known to be empty.

It only reads, and asks webhooks for nothing but whether they are there. It works on any Kubernetes.

Exit codes: 0 nothing hangs; 1 it could not be looked through; 2 the command line is wrong; 3 something hangs.`,
		Example: `  # Why does that namespace not go?
  bowline doctor

  # What has hung for an hour, for a program.
  bowline doctor --after 1h -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("output", flags.output, outputs); err != nil {
				return err
			}
			if flags.after < 0 {
				return usagef("--after is %s: it must not be negative", flags.after)
			}
			return untilSignal(cmd.Context(), func(ctx context.Context) error { return flags.run(ctx, cmd.OutOrStdout()) })
		},
	}
	cmd.Flags().DurationVar(&flags.after, "after", 10*time.Second, "`duration` that something must have waited to be named")
	addOutput(cmd, &flags.output)
	addKubeconfig(cmd, &flags.kubeconfig)
	return cmd
}

// hanging is something that hangs.
type hanging struct {
	// Who keeps others waiting, and what about it is wrong.
	Who     string `json:"who"`
	Problem string `json:"problem"`
	// Waiting is what waits for it.
	Waiting []string `json:"waiting"`
	// Help is what to do.
	Help string `json:"help"`
}

// doctor looks through a server.
type doctor struct {
	client *client.Client
	after  time.Duration
	now    time.Time
	all    []resources.Resource
	// podsOf are those of the namespaces that were looked at.
	podsOf map[string][]*metav1.PartialObjectMetadata
	found  []hanging
}

func (f *doctorFlags) run(ctx context.Context, to io.Writer) error {
	server, err := (&whyFlags{kubeconfig: f.kubeconfig}).server()
	if err != nil {
		return err
	}
	d := &doctor{client: server.client, after: f.after, now: time.Now(), podsOf: map[string][]*metav1.PartialObjectMetadata{}}
	var failures []error
	if d.all, failures = resources.Discover(ctx, server.client); len(failures) > 0 && len(d.all) == 0 {
		return failures[0]
	}
	d.unheard(failures)
	for _, look := range []func(context.Context) error{d.deletions, d.initializers, d.webhooks, d.selectors, d.budgets} {
		if err := look(ctx); err != nil {
			return err
		}
	}
	slices.SortStableFunc(d.found, func(a, b hanging) int { return cmp.Compare(a.Who, b.Who) })
	if f.output == "json" {
		err = printJSON(to, append([]hanging{}, d.found...))
	} else {
		err = printHanging(newTerminal(to), d.found)
	}
	if err == nil && len(d.found) > 0 {
		return errFound
	}
	return err
}

// unheard names the groups that do not say what they have: nobody knows what hangs there.
func (d *doctor) unheard(failures []error) {
	for _, failure := range failures {
		d.found = append(d.found, hanging{Who: "the API", Problem: fmt.Sprintf("does not say all that it has: %v", failure),
			Waiting: []string{"every namespace that is deleted, until it is known what is in it"},
			Help:    "start who serves that group, or delete its APIService"})
	}
}

// mostShown is how many of those that wait are printed for people.
const mostShown = 5

// printHanging prints what hangs for people.
func printHanging(to terminal, found []hanging) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(to, "Nothing hangs.")
		return err
	}
	for i, one := range found {
		if i > 0 {
			fmt.Fprintln(to)
		}
		fmt.Fprintf(to, "%s %s\n", to.in(strong, one.Who), one.Problem)
		for n, waiting := range one.Waiting {
			if n == mostShown {
				fmt.Fprintf(to, "  waits: and %d more\n", len(one.Waiting)-mostShown)
				break
			}
			fmt.Fprintf(to, "  waits: %s\n", waiting)
		}
		if _, err := fmt.Fprintf(to, "  help:  %s\n", one.Help); err != nil {
			return err
		}
	}
	return nil
}

// gather makes one for each that others wait for.
func (d *doctor) gather(waiting map[string][]string, problem func(who string) string, help string) {
	for who, those := range waiting {
		slices.Sort(those)
		d.found = append(d.found, hanging{Who: who, Problem: problem(who), Waiting: those, Help: help})
	}
}

// since is how long ago something was, in words.
func (d *doctor) since(then time.Time) string { return took(d.now.Sub(then).Round(time.Second)) }
