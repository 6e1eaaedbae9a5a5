package nginx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// child is a nginx that runs: its master process, with workers. It is followed by its log.
type child struct {
	master *os.Process
	folder *folder
	log    *slog.Logger
	exited chan struct{}
	how    string // after exited: how it ended

	mu        sync.Mutex
	accepting map[int]bool  // the workers that take new connections
	draining  map[int]bool  // those that end the ones that they have
	failure   string        // what the master said last that it could not do
	changed   chan struct{} // closed when one of these changes
}

// startChild starts nginx on the configuration in the folder. That it runs does not mean yet that it serves.
func startChild(binary string, f *folder, log *slog.Logger) (*child, error) {
	lock, err := f.claim()
	if err != nil {
		return nil, err
	}
	defer lock.Close() // nginx has it now, or nobody
	output, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer input.Close()
	command := exec.Command(binary, "-e", "stderr", "-p", f.path, "-c", f.file(configurationFile))
	command.Dir, command.Stdout, command.Stderr = f.path, input, input
	command.ExtraFiles = []*os.File{lock}
	command.SysProcAttr = attributes()
	c := &child{folder: f, log: log, exited: make(chan struct{}), accepting: map[int]bool{}, draining: map[int]bool{},
		changed: make(chan struct{})}
	started := make(chan error)
	go c.run(command, started)
	if err := <-started; err != nil {
		output.Close()
		return nil, fmt.Errorf("start nginx: %w", err)
	}
	c.master = command.Process
	go c.follow(output)
	return c, nil
}

// run starts the process and waits for its end. The kernel ends nginx with the thread that started it, which therefore has
// to live as long.
func (c *child) run(command *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := command.Start()
	started <- err
	if err != nil {
		return
	}
	command.Wait() // its error is in the state
	c.how = command.ProcessState.String()
	close(c.exited)
}

// follow reads the log until nobody can write to it any more.
func (c *child) follow(output io.ReadCloser) {
	defer output.Close()
	for lines := bufio.NewScanner(output); lines.Scan(); {
		e := parseEntry(lines.Text())
		e.logTo(c.log)
		c.note(e)
	}
}

// note takes what an entry says about the state of the process.
func (c *child) note(e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pid, ok := e.worker("start worker process "); ok {
		c.accepting[pid] = true
	} else if pid, ok := e.worker("worker process "); ok { // ... exited
		delete(c.accepting, pid)
		delete(c.draining, pid)
	} else if e.text == "gracefully shutting down" {
		delete(c.accepting, e.process) // it closes its listening sockets before anything else
		c.draining[e.process] = true
	} else if e.fatal() && e.process == c.master.Pid {
		c.failure = e.text
	} else {
		return
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until something is so, or nginx says what it could not do, or ends.
func (c *child) await(ctx context.Context, so func() bool) error {
	for {
		c.mu.Lock()
		done, failure, changed := so(), c.failure, c.changed
		c.mu.Unlock()
		switch {
		case failure != "":
			return errors.New(failure)
		case done:
			return nil
		}
		select {
		case <-changed:
		case <-c.exited:
			return c.ending()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ending says how a process has ended, with its last words.
func (c *child) ending() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != "" {
		return fmt.Errorf("nginx ended (%s): %s", c.how, c.failure)
	}
	return fmt.Errorf("nginx ended (%s)", c.how)
}

// begun waits until the first workers serve a configuration.
func (c *child) begun(ctx context.Context, generation string) error {
	if err := c.await(ctx, func() bool { return len(c.accepting) > 0 }); err != nil {
		return err
	}
	return c.serves(ctx, generation)
}

// drained waits, for as long as nginx lets them, until no more than so many workers answer by older configurations.
func (c *child) drained(ctx context.Context, most int) {
	ctx, cancel := context.WithTimeout(ctx, drain*time.Second)
	defer cancel()
	c.mu.Lock()
	now := len(c.draining)
	c.mu.Unlock()
	if now <= most {
		return
	}
	c.log.Warn("nginx is not reloaded yet: long connections keep many workers of older configurations", "workers", now)
	c.await(ctx, func() bool { return len(c.draining) <= most }) // whatever its error is, the reload finds out
}

// reload has nginx read its configuration again, and returns when none of the workers before it takes connections any more,
// and the new ones answer with the configuration.
func (c *child) reload(ctx context.Context, generation string) error {
	c.mu.Lock()
	before := maps.Clone(c.accepting)
	c.failure = ""
	c.mu.Unlock()
	if err := c.master.Signal(syscall.SIGHUP); err != nil {
		return fmt.Errorf("signal nginx: %w", err)
	}
	err := c.await(ctx, func() bool {
		for pid := range before {
			if c.accepting[pid] {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	return c.serves(ctx, generation)
}

// serves asks which configuration is served, and says if it is another one.
func (c *child) serves(ctx context.Context, generation string) error {
	now, err := c.generation(ctx)
	if err == nil && now != generation {
		err = fmt.Errorf("nginx does not serve the configuration that it was given, but %q", now)
	}
	return err
}

// generation is that of the configuration that is served.
func (c *child) generation(ctx context.Context) (string, error) {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", c.folder.file(statusSocket))
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://nginx/", nil)
	if err != nil {
		return "", err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", fmt.Errorf("ask nginx what it serves: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("ask nginx what it serves: %w", err)
	}
	return string(answer), nil
}

// quit has nginx end when the requests that it has are answered. When that takes too long it ends at once.
func (c *child) quit() {
	for _, step := range []struct {
		signal  syscall.Signal
		patient time.Duration
	}{{syscall.SIGQUIT, quitTimeout}, {syscall.SIGTERM, stopTimeout}} {
		if c.master.Signal(step.signal) != nil {
			return // it has ended
		}
		select {
		case <-c.exited:
			return
		case <-time.After(step.patient):
		}
	}
	c.kill()
}

// kill ends nginx and its workers at once.
func (c *child) kill() {
	if err := killGroup(c.master.Pid); err != nil {
		c.log.Error("nginx cannot be ended", "pid", c.master.Pid, "error", err)
		return
	}
	<-c.exited
}
