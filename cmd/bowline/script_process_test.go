package main

import (
	"bufio"
	"flag"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/connect"
)

// patience limits the time that a script waits for the next line of a process, or for its end.
const patience = 20 * time.Second

// upName is the name of the process started by the command up.
const upName = "up"

type processesKey struct{}

// processes are the background processes of a script by name.
type processes map[string]*process

// process is a background program with its output.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed once it has ended and its output has been read
	err    error         // result of the process; set before exited is closed

	mu     sync.Mutex
	output strings.Builder
	more   chan struct{} // closed and replaced when output grows
}

func processesOf(ts *testscript.TestScript) processes { return ts.Value(processesKey{}).(processes) }

// spawn starts a program as the process name. The process is killed when the script ends.
func spawn(ts *testscript.TestScript, name string, args []string) *process {
	running := processesOf(ts)
	if running[name] != nil {
		ts.Fatalf("%s is already running", name)
	}
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	p := &process{cmd: exec.Command(path, args[1:]...), exited: make(chan struct{}), more: make(chan struct{})}
	p.cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "PATH", "TMPDIR", "WORK", connect.KubeconfigVariable,
		"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL",
		"OS_AUTH_URL", "OS_USERNAME", "OS_PASSWORD", "OS_USER_DOMAIN_NAME", "OS_PROJECT_NAME", "OS_PROJECT_DOMAIN_NAME",
		"OS_REGION_NAME"} {
		p.cmd.Env = append(p.cmd.Env, name+"="+ts.Getenv(name))
	}
	p.cmd.Stdin = stdinOf(ts)
	read, write := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = write, write
	ts.Check(p.cmd.Start())
	go p.collect(read)
	go func() {
		p.err = p.cmd.Wait()
		write.Close()
	}()
	ts.Defer(func() {
		_ = p.cmd.Process.Kill() // fails if it has ended
		<-p.exited
	})
	running[name] = p
	return p
}

// stdinOf returns the standard input of background processes: the content of the file named by $STDIN; an
// input that stays open and empty if $STDIN is "open"; no input if it is not set.
func stdinOf(ts *testscript.TestScript) io.Reader {
	name := ts.Getenv("STDIN")
	if name == "" {
		return nil
	}
	read, write, err := os.Pipe()
	ts.Check(err)
	if name != "open" {
		_, err := io.WriteString(write, ts.ReadFile(name))
		ts.Check(err)
		ts.Check(write.Close())
	}
	ts.Defer(func() {
		read.Close()
		write.Close()
	})
	return read
}

func (p *process) collect(output io.Reader) {
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.output.Write(lines.Bytes())
		p.output.WriteByte('\n')
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
	}
	close(p.exited)
}

func (p *process) read() (output string, more <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String(), p.more
}

// await waits until the output contains count matches, and returns the last one.
func (p *process) await(ts *testscript.TestScript, pattern *regexp.Regexp, count int) []string {
	deadline := time.After(patience)
	for {
		output, more := p.read()
		if found := pattern.FindAllStringSubmatch(output, -1); len(found) >= count {
			return found[len(found)-1]
		}
		select {
		case <-more:
		case <-p.exited:
			if latest, _ := p.read(); latest != output {
				continue
			}
			ts.Fatalf("%s ended (%v) without printing %s; output:\n%s", p.cmd.Args, p.err, pattern, output)
		case <-deadline:
			ts.Fatalf("%s did not print %s; output:\n%s", p.cmd.Args, pattern, output)
		}
	}
}

// wait waits for the end of the process. Its name can be used again then.
func (p *process) wait(ts *testscript.TestScript, name string) {
	select {
	case <-p.exited:
		delete(processesOf(ts), name)
	case <-time.After(patience):
		output, _ := p.read()
		ts.Fatalf("%s did not end; output:\n%s", p.cmd.Args, output)
	}
}

var exportLine = regexp.MustCompile(`(?m)^ +export KUBECONFIG=(.*)$`)

// cmdUp starts bowline up on a free port, waits until it is ready, and sets KUBECONFIG to the path that it
// prints.
//
//	up [FLAG...]
func cmdUp(ts *testscript.TestScript, _ bool, args []string) {
	p := spawn(ts, upName, append([]string{"bowline", "up", "--listen", "127.0.0.1:0"}, args...))
	ts.Setenv(connect.KubeconfigVariable, p.await(ts, exportLine, 1)[1])
}

// cmdSpawn starts a program in the background.
//
//	spawn NAME PROGRAM [ARGUMENT...]
func cmdSpawn(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: spawn NAME PROGRAM [ARGUMENT...]")
	}
	spawn(ts, args[0], args[1:])
}

// flagsOf parses the flag -of, which names a process (up by default), and the flags that define adds.
func flagsOf(ts *testscript.TestScript, args []string,
	define func(*flag.FlagSet)) (name string, p *process, rest []string) {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(ts.Stderr())
	set.StringVar(&name, "of", upName, "")
	define(set)
	ts.Check(set.Parse(args))
	if p = processesOf(ts)[name]; p == nil {
		ts.Fatalf("process %s is not running", name)
	}
	return name, p, set.Args()
}

// cmdAwait waits until a process (up by default) has printed N matching lines to standard output or error,
// and sets VARIABLE to the first group of the last match. If negated, it fails if a line matches already.
//
//	await [-of=NAME] [-count=N] [-as=VARIABLE] REGEXP
func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	var count int
	var variable string
	_, p, rest := flagsOf(ts, args, func(set *flag.FlagSet) {
		set.IntVar(&count, "count", 1, "")
		set.StringVar(&variable, "as", "", "")
	})
	if len(rest) != 1 {
		ts.Fatalf("usage: await [-of=NAME] [-count=N] [-as=VARIABLE] REGEXP")
	}
	pattern, err := regexp.Compile("(?m)" + rest[0])
	ts.Check(err)
	if neg {
		if output, _ := p.read(); pattern.MatchString(output) {
			ts.Fatalf("unexpected output %s:\n%s", pattern, output)
		}
		return
	}
	found := p.await(ts, pattern, count)
	if variable != "" {
		ts.Setenv(variable, found[1])
	}
}

// cmdDown sends SIGTERM or another signal to a process, and waits until it ends successfully or, if negated,
// with an error.
//
//	down [-of=NAME] [INT|HUP]
func cmdDown(ts *testscript.TestScript, neg bool, args []string) {
	name, p, rest := flagsOf(ts, args, func(*flag.FlagSet) {})
	p.signal(ts, rest)
	p.wait(ts, name)
	if (p.err != nil) != neg {
		output, _ := p.read()
		ts.Fatalf("%s ended with %v; output:\n%s", p.cmd.Args, p.err, output)
	}
}

// cmdSignal sends SIGTERM or another signal to a process without waiting for its end.
//
//	signal [-of=NAME] [INT|HUP]
func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	_, p, rest := flagsOf(ts, args, func(*flag.FlagSet) {})
	p.signal(ts, rest)
}

func (p *process) signal(ts *testscript.TestScript, names []string) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "HUP": syscall.SIGHUP}
	signal := syscall.SIGTERM
	if len(names) == 1 {
		signal = signals[names[0]]
	}
	ts.Check(p.cmd.Process.Signal(signal))
}

// cmdKill9 kills a process like a crash.
//
//	kill9 [-of=NAME]
func cmdKill9(ts *testscript.TestScript, _ bool, args []string) {
	name, p, _ := flagsOf(ts, args, func(*flag.FlagSet) {})
	ts.Check(p.cmd.Process.Kill())
	p.wait(ts, name)
}
