// Command conformance runs the conformance specs of Kubernetes' own e2e suite, unmodified, on bowline up with three
// simulated nodes, and compares the results with the specs that expected.txt lists as failing.
//
//	cd compatibility/conformance
//	GOWORK=off go run .                                # all specs but those that need a container that runs
//	GOWORK=off go run . -focus 'sig-apps.*Deployment'  # some
//	GOWORK=off go run . -o json                        # for a program
//
// It builds the suite, which takes tens of minutes without a build cache; -suite names a suite that is built. It
// fails if a spec that is not listed fails, and if a listed spec passes or does not exist.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %v\n", err)
		os.Exit(2)
	}
	if err := o.run(ctx, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %v\n", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	focus                  *regexp.Regexp
	format                 string
	bowline, suite, report string // files
	all                    bool
	processes              int
	specTime, suiteTime    time.Duration
}

const usage = `Runs the conformance specs of Kubernetes' e2e suite on bowline up, and compares the results with expected.txt.

Usage:
  GOWORK=off go run . [flags]

Examples:
  # All specs, except those that expected.txt lists because they need a container that runs.
  GOWORK=off go run .

  # The specs of one group, without building anything.
  GOWORK=off go run . -suite /tmp/e2e.test -bowline /tmp/bowline -focus sig-apps

  # All specs, with the output of each in a file. Those that need a container wait for minutes.
  GOWORK=off go run . -all -procs 16 -timeout 8h -report /tmp/report.json

Exit codes: 0 all results are as expected; 1 other results, or failure; 2 invalid command line.

Flags:
`

func parse(arguments []string, help io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main prints the error
	focus := flags.String("focus", "", "run the specs whose names match this `regexp`")
	flags.StringVar(&o.format, "o", "table", "the output `format`: table or json")
	flags.StringVar(&o.bowline, "bowline", "", "the `file` of the bowline program; built if empty")
	flags.StringVar(&o.suite, "suite", "",
		"the `file` of the compiled suite, whose name ends with .test; built if empty")
	flags.StringVar(&o.report, "report", "",
		"write Ginkgo's report, with the output of each spec, to this JSON `file`")
	flags.BoolVar(&o.all, "all", false,
		"also run the specs that expected.txt lists because they need a container that runs")
	flags.IntVar(&o.processes, "procs", 2*runtime.NumCPU(), "the `number` of specs that run at the same time")
	flags.DurationVar(&o.specTime, "spec-timeout", 15*time.Minute, "the `time` after which a spec fails")
	flags.DurationVar(&o.suiteTime, "timeout", 2*time.Hour, "the `time` after which the suite is interrupted")
	err := flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(help, usage)
		flags.SetOutput(help)
		flags.PrintDefaults()
	}
	if err != nil {
		return nil, err
	}
	if o.focus, err = regexp.Compile(*focus); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.format != "table" && o.format != "json":
		return nil, fmt.Errorf("invalid format %q: must be table or json", o.format)
	case o.processes < 1 || o.specTime <= 0 || o.suiteTime <= 0:
		return nil, errors.New("-procs, -spec-timeout and -timeout must be positive")
	}
	return o, nil
}

// run builds what is missing, runs the suite, and prints the results.
func (o *options) run(ctx context.Context, out, progress io.Writer) (err error) {
	expected, err := readExpected("expected.txt")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	programs, err := o.build(ctx, dir, progress)
	if err != nil {
		return err
	}
	server, err := startServer(ctx, programs.bowline, dir)
	if err != nil {
		return err
	}
	specs, runErr := o.runSuite(ctx, programs, server, expected, dir, progress)
	if err := errors.Join(runErr, server.stop()); err != nil {
		return err
	}
	c := compare(specs, expected, o.focus)
	if o.format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(c)
	} else {
		err = c.print(out)
	}
	return errors.Join(err, c.err())
}
