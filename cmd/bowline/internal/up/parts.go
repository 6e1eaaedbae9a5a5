package up

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// partsTimeout is how long a stop waits for the parts: controllers end their reconciliations, and --ephemeral removes
// the networks that were created.
const partsTimeout = 25 * time.Second

// parts are the goroutines of bowline up beside the plane. The first failure of one cancels all.
type parts struct {
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu       sync.Mutex
	running  []string
	failures []error
}

func newParts(ctx context.Context) *parts {
	p := &parts{}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

// start runs a part with a name for errors.
func (p *parts) start(name string, work func(context.Context) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, name)
	p.group.Go(func() {
		err := work(p.ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.running = slices.DeleteFunc(p.running, func(other string) bool { return other == name })
		if err != nil {
			p.failures = append(p.failures, err)
			p.cancel()
		}
	})
}

// wait returns the failures when all parts have ended. It waits for up to partsTimeout after the context ended. If some
// have not ended by then, the error names them.
func (p *parts) wait() error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.group.Wait()
	}()
	<-p.ctx.Done()
	timer := time.NewTimer(partsTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	failures := p.failures
	if len(p.running) > 0 {
		failures = append(slices.Clone(failures), fmt.Errorf("%v after bowline was stopped, these parts still run: %s",
			partsTimeout, strings.Join(p.running, ", ")))
	}
	return errors.Join(failures...)
}
