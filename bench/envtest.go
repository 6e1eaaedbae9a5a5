package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// assetsVariable names the folder where envtest finds kube-apiserver, etcd and kubectl.
const assetsVariable = "KUBEBUILDER_ASSETS"

// envtestSuite measures an operator's unmodified envtest suite on bowline's binaries, and on those that the
// environment names, if any.
func envtestSuite() measurement {
	others := os.Getenv(assetsVariable)
	m := measurement{
		figures: []figure{{"an operator's suite with envtest: start, four specs, stop", seconds, 2}},
		starts:  true,
		run: func(ctx context.Context, l *lab) ([]reading, error) {
			suite, err := l.buildSuite(ctx)
			if err != nil {
				return nil, err
			}
			assets := filepath.Join(l.dir, "assets")
			if out, err := exec.CommandContext(ctx, l.binary, "assets", assets).CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%w: %s", err, out)
			}
			ours, err := timeSuite(ctx, suite, assets)
			if err != nil || others == "" {
				return []reading{{Value: ours}}, err
			}
			theirs, err := timeSuite(ctx, suite, others)
			return []reading{{Value: ours}, {Value: theirs}, {Value: ours / theirs}}, err
		},
	}
	if others != "" {
		m.figures = append(m.figures,
			figure{"the same envtest suite on the binaries of KUBEBUILDER_ASSETS", seconds, 60},
			figure{"the same envtest suite, bowline's time against theirs", times, 1})
	}
	return m
}

// operator is a module that does not depend on Bowline.
var operator = filepath.Join("..", "compatibility", "operator")

// buildSuite compiles the suite once for all runs.
func (l *lab) buildSuite(ctx context.Context) (string, error) {
	suite := filepath.Join(l.dir, "operator.test")
	if _, err := os.Stat(suite); err == nil {
		return suite, nil
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", suite, "./internal/controller")
	build.Dir, build.Env = operator, append(os.Environ(), "GOWORK=off") // it is in no workspace
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", build, err, out)
	}
	return suite, nil
}

// timeSuite returns the duration of the suite in seconds.
func timeSuite(ctx context.Context, suite, assets string) (float64, error) {
	run := exec.CommandContext(ctx, suite)
	run.Dir, run.Env = filepath.Join(operator, "internal", "controller"),
		append(os.Environ(), assetsVariable+"="+assets)
	start := time.Now()
	if out, err := run.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("the suite on %s: %w: %s", assets, err, out)
	}
	return time.Since(start).Seconds(), nil
}
