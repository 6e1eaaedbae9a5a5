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

// child is a running nginx: its master process, with workers. Its state is derived from its log.
type child struct {
	master *os.Process
	folder *folder
	log    *slog.Logger
	exited chan struct{}
	how    string // how it ended; valid after exited is closed

	mu        sync.Mutex
	accepting map[int]bool  // workers that accept new connections
	draining  map[int]bool  // workers that only finish existing connections
	failure   string        // the last fatal error of the master
	changed   chan struct{} // closed on a change of the fields above
}

// startChild starts nginx with the configuration in the folder. When it returns, nginx runs but may not serve
// yet.
func startChild(binary string, f *folder, log *slog.Logger) (*child, error) {
	lock, err := f.claim()
	if err != nil {
		return nil, err
	}
	defer lock.Close() // nginx has inherited it or failed to start
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

// run starts the process and waits for its end. The kernel signals nginx when the thread that started it
// ends, so the goroutine stays locked to that thread.
func (c *child) run(command *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := command.Start()
	started <- err
	if err != nil {
		return
	}
	command.Wait() // the result is in ProcessState
	c.how = command.ProcessState.String()
	close(c.exited)
}

// follow reads the log until nginx and all its workers have closed it.
func (c *child) follow(output io.ReadCloser) {
	defer output.Close()
	for lines := bufio.NewScanner(output); lines.Scan(); {
		e := parseEntry(lines.Text())
		e.logTo(c.log)
		c.note(e)
	}
}

// note updates the state with a log entry.
func (c *child) note(e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pid, ok := e.worker("start worker process "); ok {
		c.accepting[pid] = true
	} else if pid, ok := e.worker("worker process "); ok { // ... exited
		delete(c.accepting, pid)
		delete(c.draining, pid)
	} else if e.text == "gracefully shutting down" {
		delete(c.accepting, e.process) // a worker that shuts down closes its listening sockets first
		c.draining[e.process] = true
	} else if e.fatal() && e.process == c.master.Pid {
		c.failure = e.text
	} else {
		return
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until condition returns true. It fails if nginx logs a fatal error or ends.
func (c *child) await(ctx context.Context, condition func() bool) error {
	for {
		c.mu.Lock()
		done, failure, changed := condition(), c.failure, c.changed
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
			return c.exitError()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// exitError returns an error with the exit status and the last fatal error.
func (c *child) exitError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != "" {
		return fmt.Errorf("nginx ended (%s): %s", c.how, c.failure)
	}
	return fmt.Errorf("nginx ended (%s)", c.how)
}

// awaitWorkers waits until the first workers serve a configuration.
func (c *child) awaitWorkers(ctx context.Context, generation string) error {
	if err := c.await(ctx, func() bool { return len(c.accepting) > 0 }); err != nil {
		return err
	}
	return c.checkServed(ctx, generation)
}

// awaitDrained waits until at most limit workers of older configurations remain, at most for the time after
// which nginx ends them.
func (c *child) awaitDrained(ctx context.Context, limit int) {
	ctx, cancel := context.WithTimeout(ctx, drain*time.Second)
	defer cancel()
	c.mu.Lock()
	now := len(c.draining)
	c.mu.Unlock()
	if now <= limit {
		return
	}
	c.log.Warn("the reload of nginx is delayed: too many workers of older configurations still have connections",
		"workers", now)
	c.await(ctx, func() bool { return len(c.draining) <= limit }) // the reload detects any error
}

// reload makes nginx read its configuration, and returns when none of the previous workers accepts
// connections and the new ones serve the configuration.
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
	return c.checkServed(ctx, generation)
}

// checkServed returns an error unless nginx serves the configuration of this generation.
func (c *child) checkServed(ctx context.Context, generation string) error {
	now, err := c.generation(ctx)
	if err == nil && now != generation {
		err = fmt.Errorf("nginx serves the configuration %q instead of the current one", now)
	}
	return err
}

// generation returns the generation of the configuration that nginx serves.
func (c *child) generation(ctx context.Context) (string, error) {
	transport := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", c.folder.file(statusSocket))
		}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://nginx/", nil)
	if err != nil {
		return "", err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", fmt.Errorf("request the configuration that nginx serves: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("request the configuration that nginx serves: %w", err)
	}
	return string(answer), nil
}

// quit stops nginx after the pending requests are answered. After a timeout it stops nginx at once.
func (c *child) quit() {
	for _, step := range []struct {
		signal  syscall.Signal
		patient time.Duration
	}{{syscall.SIGQUIT, quitTimeout}, {syscall.SIGTERM, stopTimeout}} {
		if c.master.Signal(step.signal) != nil {
			return // it has ended already
		}
		select {
		case <-c.exited:
			return
		case <-time.After(step.patient):
		}
	}
	c.kill()
}

// kill kills nginx and its workers.
func (c *child) kill() {
	if err := killGroup(c.master.Pid); err != nil {
		c.log.Error("nginx cannot be stopped", "pid", c.master.Pid, "error", err)
		return
	}
	<-c.exited
}
