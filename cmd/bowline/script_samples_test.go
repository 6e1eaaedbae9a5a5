package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// samplePrograms maps variables to the two programs of examples/sample-controller. Each variable is set to
// the path of the built program.
var samplePrograms = map[string]string{
	"GENERATED": "./examples/sample-controller",
	"OURS":      "./examples/sample-controller/bowline",
}

// TestSampleControllers runs both programs as separate processes with bowline up: with each of the scripts
// testdata/samples/*.txtar, which use $PROGRAM, and with the commands of the README.
func TestSampleControllers(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	built := buildSamples(t, root)
	readme, err := os.ReadFile(filepath.Join("testdata", "examples", "sample-controller", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	session := filepath.Join(t.TempDir(), "readme.txtar")
	if err := os.WriteFile(session, []byte(sampleSession(string(readme))), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(name, program string, files ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testscript.Run(t, testscript.Params{
				Files: files,
				Setup: func(env *testscript.Env) error {
					for variable, path := range built {
						env.Setenv(variable, path)
					}
					env.Setenv("PROGRAM", program)
					if err := os.Symlink(filepath.Join(root, "examples"),
						filepath.Join(env.WorkDir, "examples")); err != nil {
						return err
					}
					return setUpScript(env)
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"up": cmdUp, "spawn": cmdSpawn, "await": cmdAwait, "down": cmdDown, "kill9": cmdKill9,
					"like":    cmdLike,
					"capture": cmdCapture,
				},
			})
		})
	}
	scripts, err := filepath.Glob(filepath.Join("testdata", "samples", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("got scripts %q, error %v; want some", scripts, err)
	}
	for variable, program := range built {
		run(strings.ToLower(variable), program, scripts...)
		t.Run(variable+" ends on a signal", func(t *testing.T) { t.Parallel(); testSampleSignal(t, program) })
		t.Run(variable+" ends on a second signal", func(t *testing.T) {
			t.Parallel()
			testSampleSecondSignal(t, program)
		})
	}
	run("readme", "", session)
}

// buildSamples builds both programs and returns their paths by the names of their environment variables.
func buildSamples(t *testing.T, root string) map[string]string {
	t.Helper()
	built := map[string]string{}
	for variable, program := range samplePrograms {
		built[variable] = filepath.Join(t.TempDir(), variable)
		build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", built[variable], program)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", build, err, out)
		}
	}
	return built
}

// testSampleSignal checks that a signal ends a program that waits for the response of a server, and that the
// program reports the signal.
func testSampleSignal(t *testing.T, program string) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	command := exec.CommandContext(t.Context(), program, "--master", "http://"+silent.Addr().String())
	command.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(t.TempDir(), "none"))
	var printed strings.Builder
	command.Stderr = &printed
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil || !strings.Contains(printed.String(), "interrupt") {
		t.Errorf("got %v with output %q, want an error after the interrupt", err, &printed)
	}
}

// testSampleSecondSignal checks that a second signal ends a program that hangs, here because it writes to a full
// log that has no reader. The first signal cannot end it.
func testSampleSecondSignal(t *testing.T, program string) {
	requested := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requested <- struct{}{}
		fmt.Fprint(w, `{"major":"1","minor":"37","gitVersion":"v1.37.0"}`)
	}))
	defer server.Close()
	unread, log, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	defer log.Close()
	if err := log.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("write to a full pipe: got error %v, want a timeout", err)
	}
	command := exec.CommandContext(t.Context(), program, "--master", server.URL)
	command.Env, command.Stderr = append(os.Environ(), "KUBECONFIG="+filepath.Join(t.TempDir(), "none")), log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	<-requested
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // ProcessState has the result
	}()
	ticker := time.NewTicker(200 * time.Millisecond) // repeat the signal, because its arrival cannot be observed
	defer ticker.Stop()
	for times := 0; ; times++ {
		select {
		case <-ended:
			if status := command.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGINT ||
				times < 2 {
				t.Errorf("after %d signals: got %v, want the end by SIGINT, after two signals at the earliest", times,
					command.ProcessState)
			}
			return
		case <-ticker.C:
			if times > 100 {
				_ = command.Process.Kill()
				t.Fatal("the program still runs after 100 signals")
			}
			_ = command.Process.Signal(os.Interrupt) // fails if it has ended
		}
	}
}

var (
	sampleUp      = regexp.MustCompile(`(?m)^    go run \./cmd/bowline (up.*)$`)
	sampleBlock   = regexp.MustCompile("(?ms)^```(console|log)\n(.*?)^```")
	sampleStart   = regexp.MustCompile(`^go run (\./examples/\S+) --kubeconfig ~/.local/state/bowline/kubeconfig$`)
	sampleLogLine = regexp.MustCompile(`^[IWEF]\d{4} \S+ +\d+ \w+\.go:\d+\] (.*?)( \.\.\.)?$`)
	// sampleVaries replaces the parts of kubectl's output that vary between runs.
	sampleVaries = strings.NewReplacer("9930deba-35f3-41c1-8ce9-11652a3905cb", "<uid>", "1795337950135347", "<n>",
		"2026-11-22T09:12:40Z", "<time>", "2026-11-22T09:12:44Z", "<time>", "   8s\n", "   <age>\n")
)

// sampleSession converts a README to a script. Consoles become terminals, and the program becomes a
// background process whose log must contain the lines shown. The server is started as described in the
// README.
func sampleSession(readme string) string {
	var commands, files strings.Builder
	fmt.Fprintf(&commands, "env XDG_STATE_HOME=$HOME/.local/state\n%s\nenv KUBECONFIG=\n",
		sampleUp.FindStringSubmatch(readme)[1])
	running, outputs := false, 0
	for _, b := range sampleBlock.FindAllStringSubmatch(readme, -1) {
		for line := range strings.Lines(b[2]) {
			command, isCommand := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ ")
			started, log := sampleStart.FindStringSubmatch(command), sampleLogLine.FindStringSubmatch(command)
			switch {
			case isCommand && started != nil:
				if running {
					commands.WriteString("down -of=sample\n")
				}
				running = true
				fmt.Fprintf(&commands, "spawn sample $%s --kubeconfig $HOME/.local/state/bowline/kubeconfig\n",
					sampleVariable(started[1]))
			case log != nil:
				fmt.Fprintf(&commands, "await -of=sample '%s'\n",
					strings.ReplaceAll(regexp.QuoteMeta(log[1]), "'", "''"))
			case isCommand:
				addConsole(&commands, &files, line, outputs)
			default:
				outputs = addConsole(&commands, &files, sampleVaries.Replace(line), outputs)
			}
		}
	}
	return commands.String() + "down -of=sample\ndown\n" + files.String()
}

func sampleVariable(program string) string {
	for variable, path := range samplePrograms {
		if path == program {
			return variable
		}
	}
	return "UNKNOWN"
}
