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

// fakeNeutron is a transport to a Neutron in memory that counts requests and may answer them itself.
type fakeNeutron struct {
	neutrontest.Fake
	mu       sync.Mutex
	requests int
	// answers is called before Neutron is, if it is not nil. Neutron answers if it returns nil and no error.
	answers func(*http.Request) (*http.Response, error)
}

func (g *fakeNeutron) RoundTrip(q *http.Request) (*http.Response, error) {
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

// setAnswers sets answers, resets the counter, and returns the number of requests so far.
func (g *fakeNeutron) setAnswers(f func(*http.Request) (*http.Response, error)) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.requests
	g.requests, g.answers = 0, f
	return before
}

// networksBehind returns the networks of the project.
func (g *fakeNeutron) networksBehind(w *fixture) map[string][]real {
	w.Helper()
	all, err := realNetworks(w.Context(), g.Client("project"))
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// runNeutron starts the controller with this Neutron.
func (w *fixture) runNeutron(g *fakeNeutron) running {
	w.Helper()
	client := neutrontest.NewClient("http://neutron.fake", "project", neutrontest.Member, g)
	p, err := neutron.New(planeID, client, neutron.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.Fatal(err)
	}
	loop, err := controller.New(controller.Options{Config: w.plane.RESTConfig(), Provider: p,
		Log: slog.New(slog.DiscardHandler)})
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
