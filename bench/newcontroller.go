package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// newController measures the precompiled tests of a project that `bowline new controller` creates.
func newController() measurement {
	return measurement{
		figures: []figure{
			{"new controller: its first test, from a plane to its end", milliseconds, 50},
			{"new controller: all its tests, with each thing that can go wrong", seconds, 5},
		},
		starts: true,
		run: func(ctx context.Context, l *lab) ([]reading, error) {
			project, err := os.MkdirTemp(l.dir, "project-")
			if err != nil {
				return nil, err
			}
			const program = "./greeter.test"
			for _, command := range [][]string{
				{l.binary, "new", "controller", "greeter", "--group", "example.com", "--kind", "Greeting", "--folder",
					project},
				{"go", "test", "-c", "-o", program, "."},
			} {
				if _, err := timed(ctx, project, command...); err != nil {
					return nil, err
				}
			}
			// The difference excludes the start of the process and of its first plane.
			const more = 50
			var took [2]time.Duration
			for i, count := range []int{1, 1 + more} {
				took[i], err = timed(ctx, project, program, "-test.run=^TestConfigMapIsAsDeclared$",
					"-test.count="+strconv.Itoa(count))
				if err != nil {
					return nil, err
				}
			}
			all, err := timed(ctx, project, program)
			each := (took[1] - took[0]) / more
			return []reading{{Value: float64(each.Microseconds()) / 1000}, {Value: all.Seconds()}}, err
		},
	}
}

// timed runs a program in a folder. If it fails, the error includes its output.
func timed(ctx context.Context, folder string, command ...string) (time.Duration, error) {
	run := exec.CommandContext(ctx, command[0], command[1:]...)
	run.Dir = folder
	start := time.Now()
	output, err := run.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", run, err, output)
	}
	return time.Since(start), nil
}
