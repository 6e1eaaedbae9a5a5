package main

import (
	"slices"
	"sync"
	"time"
)

// verb is a kind of request.
type verb int

const (
	create verb = iota
	update
	patch
	remove
	get
	list
	verbs
)

func (v verb) String() string {
	return [...]string{"create", "update", "patch", "delete", "get", "list of 500"}[v]
}

// clocks records the latency of requests by verb.
type clocks struct {
	mu       sync.Mutex
	took     [verbs][]time.Duration
	requests int64
}

func (c *clocks) time(v verb, request func() error) error {
	start := time.Now()
	err := request()
	took := time.Since(start)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took[v] = append(c.took[v], took)
	c.requests++
	return err
}

// latency is the p50 and p99 of the latency in milliseconds; zero without requests.
type latency struct{ p50, p99 float64 }

// lap returns the latency since the last lap.
func (c *clocks) lap() (laps [verbs]latency) {
	c.mu.Lock()
	took := c.took
	c.took = [verbs][]time.Duration{}
	c.mu.Unlock()
	for v, times := range took {
		if len(times) == 0 {
			continue
		}
		slices.Sort(times)
		laps[v] = latency{inMilliseconds(times[len(times)/2]), inMilliseconds(times[len(times)*99/100])}
	}
	return laps
}

func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
