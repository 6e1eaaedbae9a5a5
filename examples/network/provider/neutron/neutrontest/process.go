package neutrontest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// process is a running program.
type process struct {
	command *exec.Cmd
	log     string
	ended   chan struct{}
}

// start starts a program whose output goes to the file log.
func start(command *exec.Cmd, log string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	command.Stdout, command.Stderr = out, out
	ownGroup(command)
	p := &process{command: command, log: log, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Pdeathsig kills the child when the thread that started it ends, so this goroutine occupies the
		// thread until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			command.Wait() // the log shows how it ended
			close(p.ended)
		}
	}()
	return p, <-started
}

// await waits until answers succeeds. The error includes the end of the log.
func (p *process) await(answers func() error, bound time.Duration) error {
	deadline := time.After(bound)
	for {
		err := answers()
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("it ended: %s\n%s", p.command.ProcessState, p.logTail())
		case <-deadline:
			return fmt.Errorf("no answer in %s: %w\n%s", bound, err, p.logTail())
		case <-time.After(20 * time.Millisecond): // polls, since there is no event for a listening program
		}
	}
}

// logTail returns the end of the program's log.
func (p *process) logTail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// kill kills the program and its children.
func (p *process) kill() {
	killGroup(p.command)
	<-p.ended
}

func (p *process) stop() {
	if p.command.Process.Signal(syscall.SIGTERM) != nil {
		return // it has ended already
	}
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		p.kill()
	}
}
