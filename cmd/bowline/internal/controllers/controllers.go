// Package controllers implements bowline controllers, which prints the state of each controller of a server.
package controllers

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/connect"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/why"
)

// controllersFlags holds the parsed flags of bowline controllers.
type controllersFlags struct{ kubeconfig, output string }

// Command returns the bowline controllers command.
func Command() *cobra.Command {
	var flags controllersFlags
	cmd := &cobra.Command{
		Use:   "controllers",
		Short: "Show the state of each controller",
		Long: `Prints the controllers of a server: state, queue length, number of reconciles and of failed
ones, last failure, and hot loops.

The states are idle, working, failing (the last reconcile of some object failed and is being
retried), looping (in a hot loop within the last minute; bowline why names the other
writers), off (known to this program, but not run by the server) and elsewhere (it runs in
another process, or beside the server like the simulated nodes, and reports its runs; its
queue is unknown).

Only administrators may use this command.

Exit codes: 0 success; 1 failure; 2 invalid command line.`,
		Example: `  # Are all controllers running?
  bowline controllers

  # The failing ones, as JSON.
  bowline controllers -o json | jq '.[] | select(.state == "failing")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.OneOf("output", flags.output, cli.Outputs); err != nil {
				return err
			}
			return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error {
				return flags.run(ctx, cmd.OutOrStdout())
			})
		},
	}
	cli.AddOutput(cmd, &flags.output)
	cli.AddKubeconfig(cmd, &flags.kubeconfig)
	return cmd
}

// maxRuns limits the number of runs that are searched for failures.
const maxRuns = 10_000

func (f *controllersFlags) run(ctx context.Context, to io.Writer) error {
	server, err := connect.Dial(f.kubeconfig, "")
	if err != nil {
		return err
	}
	metrics, err := server.Client.REST().Get().AbsPath("/metrics").Do(ctx).Raw()
	if err != nil {
		return fmt.Errorf("reading the metrics of %s: %w", server.Address, err)
	}
	report, err := server.Report(ctx, why.Object{}, maxRuns)
	if err != nil {
		return err
	}
	all, err := controllerStates(metrics, report, bowline.Controllers())
	if err != nil {
		return fmt.Errorf("parsing the metrics of %s: %w", server.Address, err)
	}
	if f.output == "json" {
		return cli.PrintJSON(to, all)
	}
	return printControllers(to, all, report.Now)
}

// controllerState is the state of a controller in the output.
type controllerState struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// Workers is the maximum number of objects that are reconciled concurrently, Working the current number,
	// and Queue the number of queued objects.
	Workers int `json:"workers"`
	Working int `json:"working"`
	Queue   int `json:"queue"`
	// Reconciles counts the reconciliations, and Failed those that failed.
	Reconciles int                `json:"reconciles"`
	Failed     int                `json:"failed"`
	LastError  *controllerFailure `json:"lastError,omitempty"`
	HotLoops   []string           `json:"hotLoops,omitempty"`
}

// controllerFailure describes a failed run.
type controllerFailure struct {
	Object string    `json:"object"`
	Error  string    `json:"error"`
	Time   time.Time `json:"time"`
}

// States of a controller, as documented in the command's help.
const (
	stateIdle, stateWorking, stateFailing  = "idle", "working", "failing"
	stateLooping, stateOff, stateElsewhere = "looping", "off", "elsewhere"
)

// controllerStates combines a server's metrics, its journal, and the names of the controllers that it could
// run.
func controllerStates(metrics []byte, report *why.Report, known []string) ([]*controllerState, error) {
	all := map[string]*controllerState{}
	stateOf := func(name, state string) *controllerState {
		if all[name] == nil {
			all[name] = &controllerState{Name: name, State: state}
		}
		return all[name]
	}
	err := eachControllerMetric(metrics, func(name string, set func(*controllerState)) {
		set(stateOf(name, stateIdle))
	})
	if err != nil {
		return nil, err
	}
	failing := addFailures(report, func(name string) *controllerState { return stateOf(name, stateElsewhere) })
	for _, name := range known {
		stateOf(name, stateOff)
	}
	looping := addLoops(report, func(name string) *controllerState { return stateOf(name, stateElsewhere) })
	result := make([]*controllerState, 0, len(all))
	for _, c := range all {
		switch {
		case looping[c.Name]:
			c.State = stateLooping
		case failing[c.Name]:
			c.State = stateFailing
		case c.Working+c.Queue > 0:
			c.State = stateWorking
		}
		result = append(result, c)
	}
	slices.SortFunc(result, func(a, b *controllerState) int { return strings.Compare(a.Name, b.Name) })
	return result, nil
}

// loopWindow is the time since its last round in which a hot loop counts as ongoing.
const loopWindow = time.Minute

// addLoops adds the hot loops to each controller's state, and returns the controllers with an ongoing loop.
func addLoops(report *why.Report, of func(name string) *controllerState) (looping map[string]bool) {
	looping = map[string]bool{}
	for _, l := range report.Loops {
		since, text := report.Now.Sub(l.Last), l.String()
		if since > loopWindow {
			text += fmt.Sprintf(" (not in the last %s)", duration.HumanDuration(since))
		}
		for _, name := range l.Controllers {
			c := of(name)
			c.HotLoops = append(c.HotLoops, text)
			looping[name] = looping[name] || since <= loopWindow
		}
	}
	return looping
}

// addFailures adds the last failure to each controller's state, and returns the failing controllers: those
// whose last run for some object failed.
func addFailures(report *why.Report, of func(name string) *controllerState) (failing map[string]bool) {
	type subject struct {
		controller string
		object     why.Object
	}
	last := map[subject]bool{}
	for k := range report.Runs { // oldest first
		run := &report.Runs[k]
		of(run.Controller)
		last[subject{run.Controller, run.Object}] = run.Err != ""
	}
	for _, f := range report.Failures {
		of(f.Controller).LastError = &controllerFailure{f.Object.String(), f.Err, f.Start}
		last[subject{f.Controller, f.Object}] = !f.Over
	}
	failing = map[string]bool{}
	for s, failed := range last {
		failing[s.controller] = failing[s.controller] || failed
	}
	return failing
}

// printControllers prints a table of the controllers, followed by the hot loops.
func printControllers(to io.Writer, all []*controllerState, now time.Time) error {
	table := terminal.NewTable(to, 3, "NAME", "STATE", "QUEUE", "RECONCILES", "FAILED", "LAST ERROR")
	for _, c := range all {
		queue, reconciles, failed := fmt.Sprint(c.Queue), fmt.Sprint(c.Reconciles), fmt.Sprint(c.Failed)
		if c.Workers == 0 {
			queue, reconciles, failed = "-", "-", "-"
		}
		lastError := "-"
		if e := c.LastError; e != nil {
			lastError = fmt.Sprintf("%s ago, %s: %s", duration.HumanDuration(now.Sub(e.Time)), e.Object, e.Error)
		}
		table.Row(c.Name, c.State, queue, reconciles, failed, lastError)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	printed := map[string]bool{}
	for _, c := range all {
		for _, loop := range c.HotLoops {
			if printed[loop] { // already printed for another controller of the loop
				continue
			}
			printed[loop] = true
			if _, err := fmt.Fprintln(to, terminal.Sprintf("HOT LOOP  %s", loop)); err != nil {
				return err
			}
		}
	}
	return nil
}
