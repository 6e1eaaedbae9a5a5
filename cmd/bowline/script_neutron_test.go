package main

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
)

// TestNeutron runs testdata/neutron/*.txtar with the environment of an OpenStack, as printed by
// examples/network/cmd/neutron.
func TestNeutron(t *testing.T) {
	t.Parallel()
	if err := neutrontest.Missing(); err != nil {
		t.Skip(err)
	}
	variables := serveNeutron(t)
	testscript.Run(t, testscript.Params{
		Dir:       filepath.Join("testdata", "neutron"),
		Condition: scriptCondition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"up": cmdUp, "await": cmdAwait, "down": cmdDown, "capture": cmdCapture,
		},
		Setup: func(env *testscript.Env) error {
			for _, variable := range variables {
				name, value, _ := strings.Cut(variable, "=")
				env.Setenv(name, value)
			}
			return setUpScript(env)
		},
	})
}

// serveNeutron runs a Neutron until the test ends, and returns the environment variables of its clients.
func serveNeutron(t *testing.T) (variables []string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := neutrontest.Serve(ctx, in)
		in.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(out)
	for range 3 {
		if !lines.Scan() {
			t.Fatalf("incomplete environment: %v", lines.Err())
		}
		exported, _ := strings.CutPrefix(lines.Text(), "export ")
		variables = append(variables, strings.Fields(exported)...)
	}
	return variables
}
