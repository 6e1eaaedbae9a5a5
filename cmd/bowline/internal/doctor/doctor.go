// Package doctor implements bowline doctor, which finds stuck objects and what blocks them.
package doctor

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
	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/connect"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/discovery"
)

// doctorFlags holds the parsed flags of bowline doctor.
type doctorFlags struct {
	kubeconfig, output string
	after              time.Duration
}

// Command returns the bowline doctor command.
func Command() *cobra.Command {
	var flags doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find stuck objects and what blocks them",
		Long: `Finds objects and requests that wait for a component that does not respond:

  - deleted objects whose finalizers nobody removes;
  - objects that wait for an initializer, and the initializer that is next;
  - webhooks that do not respond, and the writes that they block;
  - workloads whose selectors match the same pods, and pods that two disruption
    budgets match, so that they cannot be evicted;
  - API groups whose discovery fails, which keeps deleted namespaces terminating;
  - a store, or a server, that is nearly full.

The command only reads, and probes webhooks without calling them. It works with any
Kubernetes server.

Exit codes: 0 nothing is stuck; 1 the server could not be examined; 2 invalid command line;
3 something is stuck.`,
		Example: `  # Why does that namespace not terminate?
  bowline doctor

  # What has been stuck for an hour, as JSON.
  bowline doctor --after 1h -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.OneOf("output", flags.output, cli.Outputs); err != nil {
				return err
			}
			if flags.after < 0 {
				return cli.Usagef("invalid --after %s: must not be negative", flags.after)
			}
			return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error {
				return flags.run(ctx, cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().DurationVar(&flags.after, "after", 10*time.Second,
		"report only what has waited for this `duration`")
	cli.AddOutput(cmd, &flags.output)
	cli.AddKubeconfig(cmd, &flags.kubeconfig)
	return cmd
}

// finding is one finding: a blocker and the objects or operations that wait for it.
type finding struct {
	// Blocker names the object or component that blocks others, and Problem describes what is wrong with it.
	Blocker string `json:"who"`
	Problem string `json:"problem"`
	// Waiting lists the blocked objects or operations.
	Waiting []string `json:"waiting"`
	// Help describes how to resolve the problem.
	Help string `json:"help"`
}

// doctor collects findings about one server.
type doctor struct {
	client    *client.Client
	after     time.Duration
	now       time.Time
	resources []discovery.Resource
	// podsOf caches the pods of each namespace that was listed.
	podsOf   map[string][]*metav1.PartialObjectMetadata
	findings []finding
}

func (f *doctorFlags) run(ctx context.Context, to io.Writer) error {
	server, err := connect.Dial(f.kubeconfig, "")
	if err != nil {
		return err
	}
	d := &doctor{client: server.Client, after: f.after, now: time.Now(),
		podsOf: map[string][]*metav1.PartialObjectMetadata{}}
	var failures []error
	if d.resources, failures = discovery.Resources(ctx, server.Client); len(failures) > 0 && len(d.resources) == 0 {
		return failures[0]
	}
	d.addDiscoveryFailures(failures)
	checks := []func(context.Context) error{d.deletions, d.initializers, d.webhooks, d.selectors, d.budgets, d.room}
	for _, check := range checks {
		if err := check(ctx); err != nil {
			return err
		}
	}
	slices.SortStableFunc(d.findings, func(a, b finding) int { return cmp.Compare(a.Blocker, b.Blocker) })
	if f.output == "json" {
		err = cli.PrintJSON(to, append([]finding{}, d.findings...))
	} else {
		err = printFindings(terminal.New(to), d.findings)
	}
	if err == nil && len(d.findings) > 0 {
		return cli.ErrFound
	}
	return err
}

// addDiscoveryFailures adds a finding for each API group whose discovery failed. Objects in such a group
// cannot be checked, and the namespace controller cannot tell whether a deleted namespace is empty.
func (d *doctor) addDiscoveryFailures(failures []error) {
	for _, failure := range failures {
		d.findings = append(d.findings, finding{Blocker: "the API",
			Problem: fmt.Sprintf("discovery fails: %v", failure),
			Waiting: []string{"the deletion of every namespace, because its contents are unknown"},
			Help:    "start the server of that group, or delete its APIService"})
	}
}

// maxShown limits the number of waiting objects printed per finding in the text output.
const maxShown = 5

// printFindings prints the findings as text.
func printFindings(to terminal.Terminal, found []finding) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(to, "Nothing is stuck.")
		return err
	}
	for i, one := range found {
		if i > 0 {
			fmt.Fprintln(to)
		}
		fmt.Fprintln(to, terminal.Sprintf("%s %s",
			to.Color(terminal.Bold, terminal.Sprintf("%s", one.Blocker)), one.Problem))
		for n, waiting := range one.Waiting {
			if n == maxShown {
				fmt.Fprintln(to, terminal.Sprintf("  waits: and %d more", len(one.Waiting)-maxShown))
				break
			}
			fmt.Fprintln(to, terminal.Sprintf("  waits: %s", waiting))
		}
		if _, err := fmt.Fprintln(to, terminal.Sprintf("  help:  %s", one.Help)); err != nil {
			return err
		}
	}
	return nil
}

// addByBlocker adds one finding for each key of waiting, which maps a blocker to the objects that wait for
// it.
func (d *doctor) addByBlocker(waiting map[string][]string, problem func(blocker string) string, help string) {
	for blocker, objects := range waiting {
		slices.Sort(objects)
		d.findings = append(d.findings, finding{Blocker: blocker, Problem: problem(blocker), Waiting: objects,
			Help: help})
	}
}

// elapsed returns the time elapsed since then, formatted for people.
func (d *doctor) elapsed(then time.Time) string {
	return terminal.FormatDuration(d.now.Sub(then).Round(time.Second))
}
