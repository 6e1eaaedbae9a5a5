package nginx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Times that nginx is given.
const (
	testTimeout   = time.Minute      // to read a configuration
	reloadTimeout = time.Minute      // to serve a new configuration
	askTimeout    = time.Second      // to say which one it serves
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
// one in the folder is ended, the addresses are free, and the program is there and takes a configuration of this kind. Whoever
// has it must Run it.
func newProcess(ctx context.Context, binary, path string, at listening, log *slog.Logger) (*process, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	found, err := exec.LookPath(binary)
	if err != nil {
		return nil, fmt.Errorf("nginx is not installed (apt-get install nginx-light, brew install nginx), or is elsewhere: %w", err)
	}
	if found, err = filepath.Abs(found); err != nil { // it runs in its folder, and not here
		return nil, err
	}
	f, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	p := &process{binary: found, folder: f, log: log, requests: make(chan request), ended: make(chan struct{})}
	if err := p.prepare(ctx, at); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return p, nil
}

// prepare makes room for a nginx, and has it read a configuration that serves nothing.
func (p *process) prepare(ctx context.Context, at listening) error {
	lock, err := p.folder.claim()
	if err != nil {
		return err
	}
	lock.Close() // it is taken again with each start
	for _, address := range []string{at.http, at.https} {
		if address == "" {
			continue
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return listenError(address, err)
		}
		l.Close()
	}
	nothing, err := at.render(routing{hosts: []host{{}}}, nil)
	if err != nil {
		return err
	}
	if err := p.Test(ctx, nothing); err != nil {
		return fmt.Errorf("%s is of no use: it has to be nginx 1.19.4 or a later one, with TLS: %w", p.binary, err)
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
			p.died()
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
	if before.Text == c.Text && !p.strayed(ctx) {
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

// strayed says whether nginx serves another configuration than it was given: by a reload that came about too late, or that was
// somebody else's. One that does not say, since it has much to do, is not given more.
func (p *process) strayed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	now, err := p.child.generation(ctx)
	if err != nil || now == p.current.Generation {
		return false
	}
	p.log.Warn("nginx serves what it was not given, and is reloaded", "generation", now)
	return true
}

// errSlow is that nginx did not come to serve a configuration in time.
var errSlow = fmt.Errorf("it has not come to serve the new one within %s: the machine is too busy, or nginx has been stopped", reloadTimeout)

func (p *process) reload(ctx context.Context) error {
	if err := p.folder.install(configurationFile, p.current); err != nil {
		return fmt.Errorf("write nginx's configuration: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reloadTimeout, errSlow)
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
	ctx, cancel := context.WithTimeoutCause(ctx, reloadTimeout, errSlow)
	defer cancel()
	if err := p.child.begun(ctx, p.current.Generation); err != nil {
		return err
	}
	p.log.Info("nginx serves", "pid", p.child.master.Pid)
	p.served, p.begun = true, time.Now()
	return p.folder.tidy(p.current)
}

// died has nginx started again that has ended by itself.
func (p *process) died() {
	p.log.Error("nginx ended, and is started again", "how", p.child.how)
	p.child = nil
	if time.Since(p.begun) > stable {
		p.backoff = 0
	}
	p.again()
}

// again has nginx started again: at once, and later each time until it has run for long.
func (p *process) again() {
	p.retry = time.After(p.backoff)
	p.backoff = min(max(2*p.backoff, firstBackoff), lastBackoff)
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
