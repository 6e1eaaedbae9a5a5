package nginx

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Run runs nginx until ctx ends, and stops it before it returns. It fails if nginx cannot serve its first
// configuration.
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

// serve starts or reloads nginx with a configuration.
func (p *process) serve(ctx context.Context, c Configuration) error {
	before := p.current
	p.current = c
	if p.retry != nil {
		return errors.New("nginx is not running, and will be restarted")
	}
	if p.child == nil {
		return p.start(ctx)
	}
	if before.Text == c.Text && !p.isStale(ctx) {
		return nil
	}
	start := time.Now()
	if err := p.reload(ctx); err != nil {
		p.current = before
		return errors.Join(err, p.folder.install(configurationFile, before))
	}
	p.log.Info("nginx serves a new configuration", "took", time.Since(start))
	return p.folder.tidy(c)
}

// isStale reports whether nginx serves another configuration than the current one, because of a delayed
// reload or one by another process. If a busy nginx does not answer in time, isStale returns false, so that
// it is not reloaded.
func (p *process) isStale(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	now, err := p.child.generation(ctx)
	if err != nil || now == p.current.Generation {
		return false
	}
	p.log.Warn("nginx serves an unexpected configuration, reloading", "generation", now)
	return true
}

// errReloadTimeout means that nginx did not serve a configuration in time.
var errReloadTimeout = fmt.Errorf("it did not load the new one within %s: the machine is overloaded, or nginx was stopped",
	reloadTimeout)

func (p *process) reload(ctx context.Context) error {
	if err := p.folder.install(configurationFile, p.current); err != nil {
		return fmt.Errorf("write nginx's configuration: %w", err)
	}
	p.child.awaitDrained(ctx, p.maxDraining)
	ctx, cancel := context.WithTimeoutCause(ctx, reloadTimeout, errReloadTimeout)
	defer cancel()
	if err := p.child.reload(ctx, p.current.Generation); err != nil {
		return fmt.Errorf("nginx continues with its previous configuration: %w", err)
	}
	return nil
}

// start starts nginx, or schedules another attempt.
func (p *process) start(ctx context.Context) (err error) {
	p.retry = nil
	defer func() {
		if err != nil {
			if p.child != nil {
				p.child.kill() // it would retry for a long time
				p.child = nil
			}
			p.scheduleRestart()
		}
	}()
	if err := p.folder.install(configurationFile, p.current); err != nil {
		return fmt.Errorf("write nginx's configuration: %w", err)
	}
	if p.child, err = startChild(p.binary, p.folder, p.log); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reloadTimeout, errReloadTimeout)
	defer cancel()
	if err := p.child.awaitWorkers(ctx, p.current.Generation); err != nil {
		return err
	}
	p.log.Info("nginx serves", "pid", p.child.master.Pid)
	p.served, p.startedAt = true, time.Now()
	return p.folder.tidy(p.current)
}

// died schedules a restart of an nginx that has ended unexpectedly.
func (p *process) died() {
	p.log.Error("nginx exited, restarting", "how", p.child.how)
	p.child = nil
	if time.Since(p.startedAt) > stable {
		p.backoff = 0
	}
	p.scheduleRestart()
}

// scheduleRestart schedules a restart: at once the first time, then with a growing delay.
func (p *process) scheduleRestart() {
	p.retry = time.After(p.backoff)
	p.backoff = min(max(2*p.backoff, firstBackoff), lastBackoff)
}

// stop stops nginx, and kills workers whose master has died.
func (p *process) stop() {
	if p.child != nil {
		p.child.quit()
		p.child = nil
	}
	lock, err := p.folder.claim()
	if err != nil {
		p.log.Error("nginx may still be running", "error", err)
		return
	}
	lock.Close()
}
