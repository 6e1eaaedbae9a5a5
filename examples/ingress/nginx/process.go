package nginx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Times that nginx is given.
const (
	testTimeout   = time.Minute      // to read a configuration
	reloadTimeout = 10 * time.Second // to serve a new configuration
	quitTimeout   = 10 * time.Second // to answer the requests that it has, at the end
	stopTimeout   = 2 * time.Second  // to end without
	firstBackoff  = time.Second      // between starts, when it dies again and again; it doubles
	lastBackoff   = 30 * time.Second
	stable        = time.Minute // after which a death is no longer "again"
)

// process is the nginx of a folder: started with its first configuration, reloaded with each other one, started anew when it
// dies. One goroutine, Run, owns it. It implements server.
type process struct {
	binary   string
	folder   *folder
	log      *slog.Logger
	requests chan request
	ended    chan struct{}

	// Run's own.
	child   *child
	current Configuration // what nginx has, or is to have when it starts
	served  bool          // it has served once
	begun   time.Time
	backoff time.Duration
	retry   <-chan time.Time // when to start it again
}

// request is a configuration to serve.
type request struct {
	configuration Configuration
	answer        chan<- error
}

// newProcess takes a folder for a nginx that listens on these addresses, and makes sure that it can: what is left of an earlier
// one in the folder is ended, the program is there, and the addresses are free. Whoever has it must Run it.
func newProcess(ctx context.Context, binary, path string, addresses []address, log *slog.Logger) (*process, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	found, err := exec.LookPath(binary)
	if err != nil {
		return nil, fmt.Errorf("nginx is not installed (apt-get install nginx-light, brew install nginx), or is elsewhere: %w", err)
	}
	f, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	p := &process{binary: found, folder: f, log: log, requests: make(chan request), ended: make(chan struct{})}
	if err := p.prepare(ctx, addresses); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return p, nil
}

// prepare makes room for a nginx.
func (p *process) prepare(ctx context.Context, addresses []address) error {
	lock, err := p.folder.claim()
	if err != nil {
		return err
	}
	lock.Close() // it is taken again with each start
	for _, a := range addresses {
		if !a.IsValid() {
			continue
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", a.String())
		if err != nil {
			return listenError(a.String(), err)
		}
		l.Close()
	}
	return nil
}

func listenError(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another program: end that, or let nginx listen elsewhere (%w)", address, err)
	}
	return fmt.Errorf("nginx cannot listen on %s: %w", address, err)
}

// Test implements server with nginx -t, beside the nginx that runs.
func (p *process) Test(ctx context.Context, c Configuration) error {
	if err := p.folder.install(candidateFile, c); err != nil {
		return fmt.Errorf("write nginx's configuration: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, p.binary, "-t", "-q", "-e", "stderr", "-p", p.folder.path, "-c", p.folder.file(candidateFile))
	command.Dir = p.folder.path
	output, err := command.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	for line := range strings.Lines(string(output)) {
		if e := parseEntry(strings.TrimSpace(line)); e.fatal() {
			return &refusal{p.plain(e.text)}
		}
	}
	return fmt.Errorf("nginx -t: %w: %s", err, output)
}

var inCandidate = regexp.MustCompile(` in \S*` + regexp.QuoteMeta(candidateFile) + `:\d+$`)

// plain is nginx's message without the places that only this machine knows.
func (p *process) plain(message string) string {
	return strings.ReplaceAll(inCandidate.ReplaceAllString(message, ""), p.folder.path+"/", "")
}

// Serve implements server. It waits for Run.
func (p *process) Serve(ctx context.Context, c Configuration) error {
	answer := make(chan error, 1)
	select {
	case p.requests <- request{c, answer}:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
		return errors.New("nginx has been stopped")
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run runs nginx until ctx ends, and has ended it when it returns. The error is that nginx did not come to serve at all.
func (p *process) Run(ctx context.Context) error {
	defer p.folder.close()
	defer close(p.ended)
	defer p.stop()
	for {
		var exited <-chan struct{}
		if p.child != nil {
			exited = p.child.exited
		}
		select {
		case <-ctx.Done():
			return nil
		case r := <-p.requests:
			err := p.serve(ctx, r.configuration)
			r.answer <- err
			if err != nil && !p.served && ctx.Err() == nil {
				return fmt.Errorf("nginx does not start: %w", err)
			}
		case <-exited:
			p.log.Error("nginx ended, and is started again", "how", p.child.how)
			p.child = nil
			p.again()
		case <-p.retry:
			if err := p.start(ctx); err != nil && ctx.Err() == nil {
				p.log.Error("nginx does not start", "error", err, "again in", p.backoff)
			}
		}
	}
}

// serve has nginx take a configuration.
func (p *process) serve(ctx context.Context, c Configuration) error {
	before := p.current
	p.current = c
	if p.retry != nil {
		return errors.New("nginx does not run now, and is started again soon")
	}
	if p.child == nil {
		return p.start(ctx)
	}
	if before.Text == c.Text {
		return nil
	}
	begun := time.Now()
	if err := p.reload(ctx); err != nil {
		p.current = before
		return errors.Join(err, p.folder.install(configurationFile, before))
	}
	p.log.Info("nginx serves a new configuration", "took", time.Since(begun))
	return p.folder.tidy(c)
}

func (p *process) reload(ctx context.Context) error {
	if err := p.folder.install(configurationFile, p.current); err != nil {
		return fmt.Errorf("write nginx's configuration: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	if err := p.child.reload(ctx, p.current.Generation); err != nil {
		return fmt.Errorf("nginx keeps its configuration: %w", err)
	}
	return nil
}

// start starts nginx, or else has it tried again.
func (p *process) start(ctx context.Context) (err error) {
	p.retry = nil
	defer func() {
		if err != nil {
			if p.child != nil {
				p.child.kill() // it would try for long
				p.child = nil
			}
			p.again()
		}
	}()
	if err := p.folder.install(configurationFile, p.current); err != nil {
		return fmt.Errorf("write nginx's configuration: %w", err)
	}
	if p.child, err = startChild(p.binary, p.folder, p.log); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	if err := p.child.begun(ctx, p.current.Generation); err != nil {
		return err
	}
	p.log.Info("nginx serves", "pid", p.child.master.Pid)
	p.served, p.begun = true, time.Now()
	return p.folder.tidy(p.current)
}

// again has nginx started again: at once when it has run for long, and later each time when it has not.
func (p *process) again() {
	wait := p.backoff
	switch {
	case time.Since(p.begun) > stable:
		wait, p.backoff = 0, 0
	default:
		p.backoff = min(max(2*p.backoff, firstBackoff), lastBackoff)
	}
	p.retry = time.After(wait)
}

// stop ends nginx, and workers whose master has died.
func (p *process) stop() {
	if p.child != nil {
		p.child.quit()
		p.child = nil
	}
	lock, err := p.folder.claim()
	if err != nil {
		p.log.Error("nginx may not have ended", "error", err)
		return
	}
	lock.Close()
}
