package main

import (
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestClients runs the programs of examples/clients: the scripts there, and each command of the pages, whose
// output must match the page. With -race, the programs are built with -race too.
func TestClients(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	programs := buildPrograms(t, filepath.Join(examples, "clients"))
	t.Run("interrupted", func(t *testing.T) { testInterrupted(t, filepath.Join(programs, "rest")) })
	scripts, err := filepath.Glob(filepath.Join("testdata", "examples", "clients", "testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts found: %v", err)
	}
	for _, page := range []string{"README", "proxy-and-curl"} {
		scripts = append(scripts, pageScript(t, filepath.Join("testdata", "examples", "clients", page+".md")))
	}
	testscript.Run(t, testscript.Params{
		Files: scripts,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PROGRAMS", programs)
			env.Setenv("PATH", programs+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return errors.Join(setUpScript(env),
				os.Symlink(examples, filepath.Join(env.WorkDir, "examples")), // for the paths in the pages
				syscall.Mkfifo(filepath.Join(env.WorkDir, "terminal"), 0o600))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"up": cmdUp, "spawn": cmdSpawn, "await": cmdAwait, "down": cmdDown, "kill9": cmdKill9, "like": cmdLike,
			"enter": cmdEnter, "find": cmdFind, "prints": cmdPrints, "shows": cmdShows,
		},
	})
}

// buildPrograms builds all programs in a folder, and returns the folder of the binaries.
func buildPrograms(t *testing.T, folder string) string {
	t.Helper()
	programs := t.TempDir()
	args := []string{"build", "-ldflags=-s -w", "-o", programs + string(filepath.Separator)}
	if info, ok := debug.ReadBuildInfo(); ok &&
		slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race")
	}
	build := exec.CommandContext(t.Context(), "go", append(args, "./...")...)
	build.Dir = folder
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, output)
	}
	return programs
}

// testInterrupted checks that Ctrl-C ends a program that waits for a server's response, without output and
// with the exit code of an interrupt.
func testInterrupted(t *testing.T, program string) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	rest := exec.CommandContext(ctx, program, "--master", "http://"+silent.Addr().String())
	rest.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(t.TempDir(), "none"))
	var printed strings.Builder
	rest.Stderr = &printed
	if err := rest.Start(); err != nil {
		t.Fatal(err)
	}
	defer rest.Wait() //nolint:errcheck // it has ended, or ctx kills it
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := rest.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := rest.Wait(); rest.ProcessState.ExitCode() != 130 || printed.String() != "" {
		t.Errorf("got %v with output %q, want exit code 130 and no output", err, &printed)
	}
}

// cmdPrints waits until a process has printed as many lines as a transcript contains, and compares them.
//
//	prints NAME TRANSCRIPT
func cmdPrints(ts *testscript.TestScript, _ bool, args []string) {
	_, p, _ := flagsOf(ts, []string{"-of", args[0]}, func(*flag.FlagSet) {})
	p.await(ts, regexp.MustCompile("\n"), len(linesOf(ts.ReadFile(args[1]))))
	output, _ := p.read()
	ts.Check(os.WriteFile(ts.MkAbs("printed"), []byte(output), 0o600))
	cmdLike(ts, false, []string{args[1], "printed"})
}

// cmdShows compares a transcript with the output of the last command: standard output, then standard error.
//
//	shows TRANSCRIPT
func cmdShows(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs("shown"), []byte(ts.ReadFile("stdout")+ts.ReadFile("stderr")), 0o600))
	cmdLike(ts, false, []string{args[0], "shown"})
}

// cmdFind sets a variable to the first group of a pattern in the output of the last command.
//
//	find VARIABLE REGEXP
func cmdFind(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("%s is not in:\n%s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], found[1])
}

// cmdEnter sends a newline to the program that reads the file terminal.
//
//	enter
func cmdEnter(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(os.WriteFile(ts.MkAbs("terminal"), []byte("\n"), 0o600))
}
