package attacks

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	quiet    = 20 * time.Millisecond // how long a server is watched for work that goes on
	quietCPU = 4 * time.Millisecond  // what it may use in that time
	goesOn   = 20 * time.Second      // how long such work is waited for
)

// measurement is one of a server's costs between two moments.
type measurement struct {
	s        *server
	cpu      time.Duration
	resident int64
	problems []string

	endProbes context.CancelFunc
	probes    sync.WaitGroup
	slowest   time.Duration
}

// measure begins a measurement. With probes, a stranger asks for /livez until it ends.
func (s *server) measure(probes bool) *measurement {
	m := &measurement{s: s}
	ctx, cancel := context.WithCancel(s.t.Context())
	m.endProbes = cancel
	if probes {
		client := s.client(s.stranger())
		s.livez(client) // opens the connection
		m.probes.Go(func() { m.probe(ctx, client) })
	}
	m.note(s.settle())
	var err error
	if m.resident, err = s.resetPeak(); err != nil {
		s.t.Fatal(err)
	}
	if m.cpu, err = s.cpu(); err != nil {
		s.t.Fatal(err)
	}
	return m
}

// probe asks for /livez every 10 ms until the context ends.
func (m *measurement) probe(ctx context.Context, client *http.Client) {
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			m.slowest = max(m.slowest, m.s.livez(client).took)
		}
	}
}

// end ends the measurement when the server is idle again, and adds the costs to an outcome.
func (m *measurement) end(o *outcome) {
	m.endProbes()
	m.probes.Wait()
	o.slowest = m.slowest
	s := m.s
	if a := s.livez(s.admin); a.code != http.StatusOK || a.took > maxLivez {
		o.fail("/livez afterwards: %s after %v", a, a.took)
	}
	m.note(s.settle())
	o.problems = append(o.problems, m.problems...)
	if cpu, err := s.cpu(); err == nil {
		o.cpu = cpu - m.cpu
	}
	if peak, err := s.peak(); err == nil {
		o.memory = peak - m.resident
	}
	if a := s.send(get("/api/v1/namespaces/default")[0]); a.code != http.StatusOK || a.took > maxLivez {
		o.fail("a read afterwards: %s after %v", a, a.took)
	}
}

func (m *measurement) note(problem string) {
	if problem != "" {
		m.problems = append(m.problems, problem)
	}
}

// livez asks for /livez.
func (s *server) livez(client *http.Client) answer {
	ctx, cancel := context.WithTimeout(s.t.Context(), maxAnswerTime)
	defer cancel()
	return s.sendBy(ctx, client, request{method: http.MethodGet, path: "/livez"})
}

// settle waits until the server is idle. It returns what is wrong, if anything.
func (s *server) settle() string {
	ticks := time.NewTicker(quiet)
	defer ticks.Stop()
	timeout := time.After(goesOn)
	before, err := s.cpu()
	for err == nil {
		select {
		case <-s.exited:
			return "" // stop reports it
		case <-timeout:
			return "the server was still busy after " + goesOn.String()
		case <-ticks.C:
		}
		var now time.Duration
		now, err = s.cpu()
		if now-before < quietCPU {
			return ""
		}
		before = now
	}
	return ""
}
