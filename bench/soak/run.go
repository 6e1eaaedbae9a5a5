package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// plan is the configuration of a soak.
type plan struct {
	duration, interval         time.Duration
	rate, population, watchers int
}

// report is the result of a soak.
type report struct {
	samples                            []sample
	created, deleted, requests, events int64
}

// run fills the server, opens the watches, and takes samples while the load runs. With an error it returns
// the samples taken so far.
func (p plan) run(ctx context.Context, t *target, progress io.Writer) (*report, error) {
	config := rest.CopyConfig(t.config)
	config.QPS, config.DisableCompression = -1, true
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	l := &load{client: client}
	fmt.Fprintf(progress, "creating %s objects in %d namespaces\n", thousands(int64(p.population)), namespaces)
	all, err := l.fill(ctx, p.population)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fmt.Fprintf(progress, "opening %s watches\n", thousands(int64(p.watchers)))
	w, err := openWatches(ctx, config, p.watchers)
	if err != nil {
		return nil, err
	}
	l.reset()
	r, err := p.observe(ctx, t, l, w, all, progress)
	if err == nil {
		err = w.complete(ctx, l)
	}
	cancel()
	err = errors.Join(err, w.group.Wait())
	r.created, r.deleted, r.requests, r.events = l.created.Load(), l.deleted.Load(), l.clocks.requests, w.events.Load()
	return r, err
}

// fill creates the namespaces and the initial objects.
func (l *load) fill(ctx context.Context, population int) ([]*worker, error) {
	for i := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(i)}}
		if _, err := l.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	group, groupContext := errgroup.WithContext(ctx)
	all := make([]*worker, workers)
	for i := range all {
		all[i] = &worker{load: l, number: i}
		group.Go(func() error {
			for range population / workers {
				if err := all[i].create(groupContext); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all, group.Wait()
}

// reset resets the counters after the filling.
func (l *load) reset() {
	l.clocks.lap()
	l.clocks.requests = 0
	l.created.Store(0)
	for i := range l.expected {
		l.expected[i].all.Store(0)
		l.expected[i].red.Store(0)
	}
}

// observe runs the load and takes samples.
func (p plan) observe(ctx context.Context, t *target, l *load, w *watchers, all []*worker,
	progress io.Writer) (*report, error) {
	r := &report{}
	done := make(chan error, 1)
	go func() { done <- l.work(ctx, p, all) }()
	ticks := time.NewTicker(p.interval)
	defer ticks.Stop()
	start, events := time.Now(), int64(0)
	fmt.Fprintln(progress, headline)
	for {
		select {
		case err := <-done:
			return r, err
		case <-ticks.C:
		}
		s, err := t.take(ctx, l.client)
		if err != nil {
			return r, errors.Join(fmt.Errorf("sampling the server: %w", err), <-done)
		}
		s.at, s.latency = time.Since(start), l.clocks.lap()
		s.events = float64(w.events.Load()-events) / p.interval.Seconds()
		events = w.events.Load()
		r.samples = append(r.samples, s)
		fmt.Fprintln(progress, s)
	}
}

const headline = "   time  RssAnon MiB  live heap MiB  disk MiB  files  goroutines  events/s  p99 ms: create  update   patch  delete     get    list"

func (s sample) String() string {
	line := fmt.Sprintf("%7s %12.0f %14.0f %9.0f %6.0f %11.0f %9.0f %15.1f", s.at.Round(time.Second), s.anonymous,
		s.live, s.onDisk,
		s.files, s.goroutines, s.events, s.latency[create].p99)
	for v := create + 1; v < verbs; v++ {
		line += fmt.Sprintf(" %7.1f", s.latency[v].p99)
	}
	return line
}

// thousands formats 12345 as 12,345.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
