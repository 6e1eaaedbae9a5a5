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

// Time limits for nginx.
const (
	testTimeout   = time.Minute      // to read a configuration
	reloadTimeout = time.Minute      // to serve a new configuration
	askTimeout    = time.Second      // to answer which one it serves
	quitTimeout   = 10 * time.Second // to answer pending requests when it stops
	stopTimeout   = 2 * time.Second  // to stop without answering them
	firstBackoff  = time.Second      // delay of a restart after repeated failures; it doubles
	lastBackoff   = 30 * time.Second
	stable        = time.Minute // running time after which the delay is reset
)

// oldConfigurations is the maximum number of older configurations with pending requests, if these occupy all
// workers.
const oldConfigurations = 16

// process is the nginx of a folder. It is started with its first configuration, reloaded for each further
// one, and restarted when it ends unexpectedly. The goroutine in Run owns it. It implements server.
type process struct {
	binary   string
	folder   *folder
	log      *slog.Logger
	requests chan request
	ended    chan struct{}
	// maxDraining is the maximum number of workers of older configurations. Each open connection occupies
	// one, and each takes several megabytes.
	maxDraining int

	// The following fields are used only by Run.
	child     *child
	current   Configuration // of the running nginx, or for its next start
	served    bool          // it has served a configuration
	startedAt time.Time
	backoff   time.Duration
	retry     <-chan time.Time // when to restart it
}

// request asks Run to serve a configuration.
type request struct {
	configuration Configuration
	answer        chan<- error
}

// newProcess locks a folder for an nginx that listens on these addresses, and checks that it can run: it
// kills an earlier nginx in the folder, and fails if an address is in use or if the program is missing or
// rejects a minimal configuration. The caller must call Run.
func newProcess(ctx context.Context, binary, path string, at listening, log *slog.Logger) (*process, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	found, err := exec.LookPath(binary)
	if err != nil {
		return nil,
			fmt.Errorf("nginx is not installed (apt-get install nginx-light, brew install nginx), or is not in the PATH: %w",
				err)
	}
	if found, err = filepath.Abs(found); err != nil { // it runs in another working directory
		return nil, err
	}
	f, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	p := &process{
		binary: found, folder: f, log: log, requests: make(chan request), ended: make(chan struct{}),
		maxDraining: oldConfigurations * runtime.NumCPU(),
	}
	if err := p.prepare(ctx, at); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return p, nil
}

// prepare kills an earlier nginx, checks the addresses, and tests an empty configuration.
func (p *process) prepare(ctx context.Context, at listening) error {
	lock, err := p.folder.claim()
	if err != nil {
		return err
	}
	lock.Close() // each start acquires it again
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
		return fmt.Errorf("%s cannot be used: nginx 1.19.4 or later with TLS is required: %w", p.binary, err)
	}
	return nil
}

func listenError(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another program: stop it, or choose another address for nginx (%w)", address,
			err)
	}
	return fmt.Errorf("nginx cannot listen on %s: %w", address, err)
}

// errTestTimeout means that "nginx -t" did not finish in time.
var errTestTimeout = fmt.Errorf("nginx -t did not read the configuration within %s: there are too many Ingresses, or the machine is overloaded",
	testTimeout)

// Test implements server with "nginx -t", while the running nginx continues.
func (p *process) Test(ctx context.Context, c Configuration) error {
	if err := p.folder.install(candidateFile, c); err != nil {
		return fmt.Errorf("write nginx's configuration: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, testTimeout, errTestTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, p.binary, "-t", "-q", "-e", "stderr", "-p", p.folder.path, "-c",
		p.folder.file(candidateFile))
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

// plain removes local file names from a message of nginx.
func (p *process) plain(message string) string {
	return strings.ReplaceAll(inCandidate.ReplaceAllString(message, ""), p.folder.path+"/", "")
}

// Serve implements server. It passes the configuration to Run.
func (p *process) Serve(ctx context.Context, c Configuration) error {
	answer := make(chan error, 1)
	select {
	case p.requests <- request{c, answer}:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
		return errors.New("nginx was stopped")
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
