package attacks

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/printable"
)

// served is the code of a program that serves. Otherwise the code is its exit code.
const served = http.StatusOK

// execution is an attack on a program by its arguments and by the files that it finds.
type execution struct {
	name    string
	prepare func(t *testing.T, folder string) // creates files in the folder, where the program runs and is at home
	program string                            // its name; bowline if it is empty
	args    []string
	codes   []int
	text    string                            // a part of its output
	check   func(t *testing.T, folder string) // called after it has ended
	probe   func(address string) error        // called while it serves
	until   string                            // a part of its output; it is waited for while the program serves
	sent    int                               // bytes of the files that it is to read
}

// programAreas are the areas whose rows are executions.
func programAreas() []struct {
	name string
	rows func(t *testing.T) []execution
} {
	return []struct {
		name string
		rows func(t *testing.T) []execution
	}{
		{"state folders", stateFolders},
		{"certificates on disk", certificatesOnDisk},
		{"kubeconfigs and manifests", filesOfOthers},
		{"listen addresses", listenAddresses},
		{"envtest stand-ins", standIns},
		{"hostile backups", hostileBackups},
	}
}

// TestPrograms runs the programs on hostile files and arguments, with the limits of TestAttacks on CPU time, memory and
// answers. What they print must not change a terminal.
func TestPrograms(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the cost of a process is measured on Linux only")
	}
	var all report
	defer all.log(t)
	for _, a := range programAreas() {
		t.Run(a.name, func(t *testing.T) {
			for _, e := range a.rows(t) {
				t.Run(e.name, func(t *testing.T) {
					got := e.attack(t)
					t.Log(got.String())
					all.add(a.name, e.name, got)
					for _, problem := range got.problems {
						t.Error(problem)
					}
				})
			}
		})
	}
}

// attack runs the program, at most three times if its CPU time is too high, as row.attack does.
func (e execution) attack(t *testing.T) (got outcome) {
	for range 3 {
		folder := t.TempDir()
		if e.prepare != nil {
			e.prepare(t, folder)
		}
		p := start(t, folder, e.program, e.args...)
		p.await()
		if p.address != "" && e.until != "" {
			p.awaitText(e.until)
		}
		if p.address != "" && e.probe != nil {
			if err := e.probe(p.address); err != nil {
				t.Error(err)
			}
		}
		got = p.stop()
		got.sent = e.sent
		row{codes: e.codes, text: e.text, within: startTime}.judge(&got)
		if e.check != nil {
			e.check(t, folder)
		}
		if got.cpu <= maxCPU {
			break
		}
	}
	return got
}

// process is a run of a program.
type process struct {
	*testing.T
	out      output
	started  time.Time
	baseline int64 // the memory of this process when it started the program
	kill     func()
	signal   func(os.Signal) error
	exited   chan struct{}
	code     int
	usage    *syscall.Rusage
	address  string // that it serves at
}

// start starts a program in a folder. A program that is not bowline is a link to it, as bowline assets creates them.
func start(t *testing.T, folder, program string, args ...string) *process {
	t.Helper()
	p := &process{T: t, exited: make(chan struct{}), out: output{serves: make(chan struct{})}}
	p.baseline = resetOwnPeak(t)
	cmd := command(folder, args...)
	if cmd.Dir = folder; program != "" {
		cmd.Args[0] = program
	}
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	p.started = time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.signal = cmd.Process.Signal
	p.kill = func() { cmd.Process.Kill(); <-p.exited } // fails if it has ended
	t.Cleanup(p.kill)
	go func() {
		defer close(p.exited)
		cmd.Wait() // the output has the reason
		p.code, p.usage = cmd.ProcessState.ExitCode(), cmd.ProcessState.SysUsage().(*syscall.Rusage)
	}()
	return p
}

// resetOwnPeak returns freed memory to the kernel, and resets the peak of this process. A process counts the memory of
// the one that started it in its own peak.
func resetOwnPeak(t *testing.T) int64 {
	debug.FreeOSMemory()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	resident, err := (&server{cmd: &exec.Cmd{Process: self}}).resetPeak()
	if err != nil {
		t.Fatal(err)
	}
	return resident
}

// await waits until the program serves or has ended.
func (p *process) await() {
	select {
	case <-p.exited:
	case <-p.out.serves:
		p.address = p.out.address()
	case <-time.After(startTime):
	}
}

// awaitText waits until the program has printed a text or has ended.
func (p *process) awaitText(text string) {
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	timeout := time.After(maxAnswerTime)
	for !strings.Contains(p.out.String(), text) {
		select {
		case <-ticks.C:
		case <-p.exited:
			return
		case <-timeout:
			p.Errorf("it did not print %q", text)
			return
		}
	}
}

// stop ends a program that serves, and returns its cost.
func (p *process) stop() (got outcome) {
	select {
	case <-p.exited:
	default:
		if err := p.signal(syscall.SIGTERM); err != nil {
			p.Fatal(err)
		}
		select {
		case <-p.exited:
			if got.answer.code = served; p.address == "" {
				got.fail("it neither ended nor served within %v", startTime)
			}
		case <-time.After(stopTime):
			got.fail("it did not stop within %v of SIGTERM", stopTime)
			p.kill()
		}
	}
	if got.answer.code != served {
		got.answer.code = p.code
	}
	got.answer.took = time.Since(p.started)
	got.cpu = time.Duration(p.usage.Utime.Nano() + p.usage.Stime.Nano())
	got.memory = p.usage.Maxrss<<10 - p.baseline
	text := p.out.String()
	got.answer.body = []byte(text)
	if printable.Lines(text) != text {
		got.fail("control characters in its output: %q", text)
	}
	if strings.Contains(text, "panic:") || strings.Contains(text, "goroutine ") || strings.Contains(text, "fatal error") {
		got.fail("it panicked: %s", text[:min(len(text), 2*kilo)])
	}
	return got
}

// output collects what a program prints.
type output struct {
	lock   sync.Mutex
	text   bytes.Buffer
	serves chan struct{} // closed when it serves
	closed bool
}

func (o *output) Write(text []byte) (int, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	n, err := o.text.Write(text)
	if all := o.text.String(); !o.closed && (strings.Contains(all, "export KUBECONFIG=") || strings.Contains(all,
		" on 127.0.0.1:")) {
		close(o.serves)
		o.closed = true
	}
	return n, err
}

func (o *output) String() string {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.text.String()
}

// address returns the address that the program has printed.
func (o *output) address() string {
	text := o.String()
	for _, before := range []string{"https://", " on "} {
		if _, after, ok := strings.Cut(text, before); ok {
			return strings.TrimRight(strings.Fields(after)[0], ";,.")
		}
	}
	return "unknown"
}

// run runs a command that must succeed.
func run(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := command(folder, args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("bowline %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// all calls several preparations.
func all(steps ...func(*testing.T, string)) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		for _, step := range steps {
			step(t, folder)
		}
	}
}

// in returns a preparation that calls do with the path of a file.
func in(name string, do func(path string) error) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), do(path)); err != nil {
			t.Fatal(err)
		}
	}
}

// write, fifo, linkTo, mode and owner return preparations of a file; instead of it if it is there.
func write(name, text string) func(*testing.T, string) {
	return in(name, func(path string) error { return os.WriteFile(path, []byte(text), 0o600) })
}

// fill writes a text n times. It frees the text afterwards: memory of this process is part of a program's peak.
func fill(name, text string, n int) func(*testing.T, string) {
	return in(name, func(path string) error { return os.WriteFile(path, []byte(strings.Repeat(text, n)), 0o600) })
}

func fifo(name string) func(*testing.T, string) {
	return in(name, func(path string) error { return errors.Join(os.RemoveAll(path), syscall.Mkfifo(path, 0o600)) })
}

func linkTo(target, name string) func(*testing.T, string) {
	return in(name, func(path string) error { return errors.Join(os.RemoveAll(path), os.Symlink(target, path)) })
}

func directory(name string) func(*testing.T, string) {
	return in(name, func(path string) error { return errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o700)) })
}

func mode(name string, bits os.FileMode) func(*testing.T, string) {
	return in(name, func(path string) error { return os.Chmod(path, bits) })
}

func owner(name string, id int) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		if os.Getuid() != 0 {
			t.Skip("only root may give files to another user")
		}
		in(name, func(path string) error { return os.Lchown(path, id, id) })(t, folder)
	}
}

// unchanged checks that a file has a text.
func unchanged(name, text string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || string(got) != text {
			t.Errorf("%s has %.100q (%v), want %q", name, got, err, text)
		}
	}
}

// up returns the arguments of bowline up.
func up(more ...string) []string {
	return slices.Concat([]string{"up", "--listen", "127.0.0.1:0"}, more)
}

// template returns a preparation that copies a folder.
func template(from, to string) func(*testing.T, string) {
	return in(to, func(path string) error { return os.CopyFS(path, os.DirFS(from)) })
}

// usedFolder returns a state folder that a server has left.
func usedFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	s := startServer(t, "--data", folder)
	if a := s.send(post(configMaps, configMap("a", `,"data":{"k":"v"}`))[0]); a.code != http.StatusCreated {
		t.Fatal(a)
	}
	if problem := s.stop(); problem != "" {
		t.Fatal(problem)
	}
	return folder
}
