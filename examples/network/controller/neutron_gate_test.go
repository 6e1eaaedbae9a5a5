package controller_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/bowline-dev/bowline/examples/network/controller"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
)

// gate is the way to a Neutron in memory. It counts requests, and may be shut, or slow.
type gate struct {
	neutrontest.Fake
	mu       sync.Mutex
	requests int
	// answers is given in place of Neutron's answer unless both are nil; nil passes all.
	answers func(*http.Request) (*http.Response, error)
}

func (g *gate) RoundTrip(q *http.Request) (*http.Response, error) {
	g.mu.Lock()
	g.requests++
	answers := g.answers
	g.mu.Unlock()
	if answers != nil {
		if answer, err := answers(q); answer != nil || err != nil {
			return answer, err
		}
	}
	return neutrontest.InProcess(&g.Fake).RoundTrip(q)
}

// put has requests answered by f, or by Neutron when it is nil, and returns how many there were before.
func (g *gate) put(f func(*http.Request) (*http.Response, error)) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.requests
	g.requests, g.answers = 0, f
	return before
}

// networksBehind are what there is, by what a member of the project sees.
func (g *gate) networksBehind(w *world) map[string][]real {
	w.Helper()
	all, err := realNetworks(w.Context(), g.Client("project"))
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// runNeutron starts the controller with that Neutron.
func (w *world) runNeutron(g *gate) running {
	w.Helper()
	client := neutrontest.NewClient("http://neutron.fake", "project", neutrontest.Member, g)
	p, err := neutron.New(planeID, client, neutron.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.Fatal(err)
	}
	loop, err := controller.New(controller.Options{Config: w.plane.RESTConfig(), Provider: p, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		loop.Run(ctx)
		if err := p.(io.Closer).Close(); err != nil {
			w.Error(err)
		}
	}()
	return running{stop: func() { cancel(); <-done }}
}
