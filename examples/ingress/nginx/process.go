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
	"runtime"
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

// oldConfigurations is how many may be served to the end at a time, if all the workers of each have requests.
const oldConfigurations = 16

// process is the nginx of a folder: started with its first configuration, reloaded with each other one, started anew when it
// dies. One goroutine, Run, owns it. It implements server.
type process struct {
	binary   string
	folder   *folder
	log      *slog.Logger
	requests chan request
	ended    chan struct{}
	// mostDraining is how many workers of older configurations there may be beside those of the next one: each connection that
	// does not end keeps one, and each takes some megabytes.
	mostDraining int

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
	p := &process{
		binary: found, folder: f, log: log, requests: make(chan request), ended: make(chan struct{}),
		mostDraining: oldConfigurations * runtime.NumCPU(),
	}
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

// errUnread is that nginx did not come to an end with a configuration.
var errUnread = fmt.Errorf("nginx -t has not read the configuration within %s: there are too many Ingresses, or the machine is busy",
	testTimeout)

// Test implements server with nginx -t, beside the nginx that runs.
func (p *process) Test(ctx context.Context, c Configuration) error {
	if err := p.folder.install(candidateFile, c); err != nil {
		return fmt.Errorf("write nginx's configuration: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, testTimeout, errUnread)
	defer cancel()
	command := exec.CommandContext(ctx, p.binary, "-t", "-q", "-e", "stderr", "-p", p.folder.path, "-c", p.folder.file(candidateFile))
	command.Dir = p.folder.path
	output, err := command.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
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
