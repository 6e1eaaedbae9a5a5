package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

// runSuite runs the selected specs on a server, and returns all specs of conformance, also those that it did not run.
func (o *options) runSuite(ctx context.Context, p programs, s *server, expected map[string]string, dir string,
	progress io.Writer) ([]spec, error) {
	arguments := []string{"run", "--procs", strconv.Itoa(o.processes), "--timeout", o.suiteTime.String(), "--no-color",
		"-v", "--label-filter", "Conformance", "--json-report", "report.json", "--output-dir", dir}
	if o.focus.String() != "" {
		arguments = append(arguments, "--focus", o.focus.String())
	}
	if !o.all {
		for _, name := range slices.Sorted(maps.Keys(expected)) {
			if strings.HasPrefix(expected[name], needsContainer) {
				arguments = append(arguments, "--skip", regexp.QuoteMeta(name)+"$")
			}
		}
	}
	arguments = append(arguments, p.suite, "--", "--provider", "skeleton", "--kubeconfig", s.kubeconfig,
		"--kubectl-path", p.kubectl, "--e2e-output-dir", dir, "--repo-root", dir,
		"--spec-timeout", o.specTime.String())
	command := exec.CommandContext(ctx, p.ginkgo, arguments...)
	command.Dir = dir
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGINT) }
	command.WaitDelay = time.Minute
	last := &tail{}
	output := io.MultiWriter(&progressFilter{out: progress}, last)
	command.Stdout, command.Stderr = output, output
	runErr := command.Run()                                           // an error also if a spec failed
	reports, err := filepath.Glob(filepath.Join(dir, "*report.json")) // Ginkgo puts the suite's path in front
	if err == nil && len(reports) == 0 {
		err = fmt.Errorf("the suite wrote no report: %w\n%s", runErr, last.text)
	}
	if err != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	specs, err := readReport(reports[0])
	if err == nil && o.report != "" {
		err = copyFile(reports[0], o.report)
	}
	return specs, errors.Join(err, context.Cause(ctx))
}

// spec is a spec of the suite.
type spec struct {
	Name  string          `json:"name"`
	State types.SpecState `json:"-"`
	// Ran is false if the spec was not selected. A spec that ran may have skipped itself.
	Ran     bool    `json:"-"`
	Seconds float64 `json:"seconds,omitempty"`
	Failure string  `json:"failure,omitempty"`
}

// readReport reads the specs of conformance from Ginkgo's report.
func readReport(file string) (specs []spec, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var reports []types.Report
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, report := range reports {
		for _, r := range report.SpecReports {
			if r.LeafNodeType != types.NodeTypeIt {
				if r.Failed() {
					return nil, fmt.Errorf("%s failed: %s", r.LeafNodeType, r.FailureMessage())
				}
				continue
			}
			if slices.Contains(r.Labels(), "Conformance") {
				specs = append(specs, spec{Name: r.FullText(), State: r.State, Ran: r.NumAttempts > 0,
					Seconds: r.RunTime.Seconds(), Failure: r.FailureMessage()})
			}
		}
	}
	return specs, nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}
