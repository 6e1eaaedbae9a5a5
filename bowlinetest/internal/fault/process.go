package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Process is a program that a run starts, and restarts when it has ended.
type Process struct {
	name string
	run  *Run
	main func(context.Context, *rest.Config) error

	stop  context.CancelFunc
	ctx   context.Context
	ended sync.WaitGroup

	active  bool // has sent a request; guarded by run.mu
	mu      sync.Mutex
	watches map[string]bool      // resources that it has ever watched
	behind  map[string]time.Time // when delayed events of a resource arrive
}

// ErrKilled is the error of all requests of a process that has crashed.
var ErrKilled = errors.New("the process was killed")

// stopTimeout is the virtual time within which a process must return after its context has ended.
const stopTimeout = time.Minute

// mostExits is the number of times that a process may end by itself in a run.
const mostExits = 20

// Start starts a process, which runs until Stop. Its contexts have the values of ctx.
func (r *Run) Start(ctx context.Context, name string, main func(context.Context, *rest.Config) error) *Process {
	p := &Process{name: name, run: r, main: main, watches: map[string]bool{}, behind: map[string]time.Time{}}
	p.ctx, p.stop = context.WithCancel(ctx)
	r.mu.Lock()
	r.processes = append(r.processes, p)
	r.mu.Unlock()
	p.ended.Go(p.supervise)
	return p
}

// Stop ends a process for good. Wait waits until it has ended.
func (p *Process) Stop() { p.stop() }

// Wait returns when the process has ended.
func (p *Process) Wait() { p.ended.Wait() }

// supervise runs the process and restarts it until Stop.
func (p *Process) supervise() {
	for exits := 0; p.ctx.Err() == nil; {
		err := p.execute()
		if p.ctx.Err() != nil {
			return
		}
		if !errors.Is(err, ErrKilled) {
			p.run.Note(p.name, "ends by itself", fmt.Sprint(err))
			if exits++; exits == mostExits {
				p.run.Fail("%s keeps ending: %v", p.name, err)
				return
			}
		}
		select {
		case <-time.After(p.run.Down):
			p.run.Note(p.name, "starts again", "")
		case <-p.ctx.Done():
		}
	}
}

// execute runs the process once, until it returns. The error is ErrKilled if it crashed.
func (p *Process) execute() error {
	l := &lifetime{process: p}
	ctx, kill := context.WithCancelCause(context.WithValue(p.ctx, lifetimeKey{}, l))
	defer kill(nil)
	l.ctx, l.kill = ctx, kill
	returned := make(chan error, 1)
	go func() { returned <- p.guarded(ctx, l.config()) }()
	select {
	case err := <-returned:
		if context.Cause(ctx) == ErrKilled {
			return ErrKilled
		}
		return err
	case <-ctx.Done():
	}
	select {
	case <-returned:
	case <-time.After(stopTimeout):
		p.run.Fail("%s has not returned %s after its context was canceled", p.name, stopTimeout)
	}
	return context.Cause(ctx)
}

// guarded calls main, and records a panic as a problem.
func (p *Process) guarded(ctx context.Context, config *rest.Config) error {
	defer func() {
		if v := recover(); v != nil {
			p.run.Fail("%s panicked: %v\n%s", p.name, v, debug.Stack())
		}
	}()
	return p.main(ctx, config)
}

// delayEvents delays the events of a resource for the time of Lag.
func (p *Process) delayEvents(resource string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behind[resource] = time.Now().Add(p.run.Lag)
}

func (p *Process) behindUntil(resource string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.behind[resource]
}

// Watches reports whether the process has ever watched a resource.
func (p *Process) Watches(resource string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watches[resource]
}

// Name returns the name of the process.
func (p *Process) Name() string { return p.name }

// Idle reports whether the process has sent no request and had no effect.
func (p *Process) Idle() bool {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	return !p.active
}

// lifetime is one execution of a process, from start to end. It is the transport of the process's clients.
type lifetime struct {
	process  *Process
	ctx      context.Context
	kill     context.CancelCauseFunc
	rejected atomic.Int64 // number of failed requests after the end
}

type lifetimeKey struct{}

// crash ends the process. Its later requests have no effect on the server.
func (l *lifetime) crash() { l.kill(ErrKilled) }

// dead returns why the process has ended, or nil. A process that retries in a loop after its end is slowed
// down after 1000 requests, since virtual time does not advance while it runs.
func (l *lifetime) dead() error {
	if l.ctx.Err() == nil {
		return nil
	}
	if l.rejected.Add(1) > 1000 {
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%s: %w", l.process.name, context.Cause(l.ctx))
}

func (l *lifetime) config() *rest.Config {
	return &rest.Config{
		Host: "http://bowline.in-process", Transport: l, QPS: -1,
		UserAgent: l.process.name, WarningHandler: rest.NoWarnings{},
	}
}

// RoundTrip implements http.RoundTripper.
func (l *lifetime) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := understand(q)
	if err == nil {
		err = l.dead()
	}
	if err != nil {
		return nil, err
	}
	l.process.run.request(l.process)
	switch {
	case r.ignored && r.verb != "watch":
		return l.roundTrip(r, r.Context())
	case r.verb == "watch":
		return l.watch(r)
	case r.verb == "get" || r.verb == "list":
		return l.read(r)
	}
	return l.write(r)
}

// point returns the point of a request, without its number.
func (l *lifetime) point(r *request) Point {
	return Point{
		Process: l.process.name, Verb: r.verb, Resource: r.resourceText(),
		Object: l.process.run.stable(r.resource, r.namespace, r.name),
	}
}
