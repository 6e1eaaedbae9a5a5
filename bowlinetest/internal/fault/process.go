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

// Process is a program that a run starts, and starts again when it has ended.
type Process struct {
	name string
	run  *Run
	main func(context.Context, *rest.Config) error

	stop  context.CancelFunc
	ctx   context.Context
	ended sync.WaitGroup

	asked   bool // anything; guarded by run.mu
	mu      sync.Mutex
	watches map[string]bool      // which resources it has ever watched
	behind  map[string]time.Time // until when it is told nothing of a resource
}

// ErrKilled is what a process that has crashed gets for an answer.
var ErrKilled = errors.New("the process was killed")

// patience is how long a process may take to end, in virtual time.
const patience = time.Minute

// mostExits is how often a process may end by itself in a run.
const mostExits = 20

// Start starts a process, whose contexts have the values of ctx, until Stop.
func (r *Run) Start(ctx context.Context, name string, main func(context.Context, *rest.Config) error) *Process {
	p := &Process{name: name, run: r, main: main, watches: map[string]bool{}, behind: map[string]time.Time{}}
	p.ctx, p.stop = context.WithCancel(ctx)
	r.mu.Lock()
	r.processes = append(r.processes, p)
	r.mu.Unlock()
	p.ended.Go(p.supervise)
	return p
}

// Stop ends a process for good. Wait waits for that.
func (p *Process) Stop() { p.stop() }

// Wait returns when the process has ended.
func (p *Process) Wait() { p.ended.Wait() }

// supervise runs one life after the other.
func (p *Process) supervise() {
	for exits := 0; p.ctx.Err() == nil; {
		err := p.live()
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

// live runs the process once, until it returns. The error is ErrKilled of one that crashed.
func (p *Process) live() error {
	l := &life{process: p}
	ctx, kill := context.WithCancelCause(context.WithValue(p.ctx, lifeKey{}, l))
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
	case <-time.After(patience):
		p.run.Fail("%s does not end: its context ended %s ago", p.name, patience)
	}
	return context.Cause(ctx)
}

// guarded makes a problem of a panic.
func (p *Process) guarded(ctx context.Context, config *rest.Config) error {
	defer func() {
		if v := recover(); v != nil {
			p.run.Fail("%s panicked: %v\n%s", p.name, v, debug.Stack())
		}
	}()
	return p.main(ctx, config)
}

// keepBehind has the process told nothing of a resource for a while.
func (p *Process) keepBehind(resource string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behind[resource] = time.Now().Add(p.run.Lag)
}

func (p *Process) behindUntil(resource string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.behind[resource]
}

// Watches says whether the process has watched a resource.
func (p *Process) Watches(resource string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watches[resource]
}

// Name is what it is called.
func (p *Process) Name() string { return p.name }

// Idle says whether the process has never asked anything of the server, nor had an effect.
func (p *Process) Idle() bool {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	return !p.asked
}

// life is a process from a start to its end. It is the transport of its clients.
type life struct {
	process *Process
	ctx     context.Context
	kill    context.CancelCauseFunc
	told    atomic.Int64 // how often, that it is dead
}

type lifeKey struct{}

// crash ends the process: nothing that it does from now on has any effect on the server.
func (l *life) crash() { l.kill(ErrKilled) }

// dead is why the process cannot do anything. Who has been told so often enough and goes on has to wait for it, so that time
// passes: a loop would keep it from that for ever.
func (l *life) dead() error {
	if l.ctx.Err() == nil {
		return nil
	}
	if l.told.Add(1) > 1000 {
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%s: %w", l.process.name, context.Cause(l.ctx))
}

func (l *life) config() *rest.Config {
	return &rest.Config{
		Host: "http://bowline.in-process", Transport: l, QPS: -1,
		UserAgent: l.process.name, WarningHandler: rest.NoWarnings{},
	}
}

// RoundTrip implements http.RoundTripper.
func (l *life) RoundTrip(q *http.Request) (*http.Response, error) {
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
		return l.whole(r, r.Context())
	case r.verb == "watch":
		return l.watch(r)
	case r.verb == "get" || r.verb == "list":
		return l.read(r)
	}
	return l.write(r)
}

// point is where a request is.
func (l *life) point(r *request) Point {
	return Point{
		Process: l.process.name, Verb: r.verb, Resource: r.resourceText(),
		Object: l.process.run.stable(r.resource, r.namespace, r.name),
	}
}
