package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// TestShortSoak runs the whole program for three seconds, with the server in this process. Every request must
// succeed, every watcher must receive every event, and the picture must show the samples.
func TestShortSoak(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	objects, err := disk.Open(filepath.Join(data, "objects"), disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plane, err := bowline.Start(t.Context(), bowline.Options{Listen: "127.0.0.1:0", Storage: objects})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	config, err := plane.SocketConfig()
	if err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	p := plan{duration: 3 * time.Second, interval: 500 * time.Millisecond, rate: 64, population: 320, watchers: 100}
	r, err := p.run(t.Context(), &target{config: config, pid: os.Getpid(), data: data}, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	if r.created == 0 || r.created != r.deleted || r.events == 0 || len(r.samples) == 0 {
		t.Errorf("%d objects were created and %d deleted, watchers saw %d events, %d samples were taken",
			r.created, r.deleted, r.events, len(r.samples))
	}
	for _, s := range r.samples {
		if s.anonymous <= 0 || s.live <= 0 || s.onDisk <= 0 || s.files <= 0 || s.goroutines <= 0 {
			t.Errorf("a sample lacks something: %+v", s)
		}
	}
	picture := filepath.Join(t.TempDir(), "soak.svg")
	if err := draw(picture, r); err != nil {
		t.Fatal(err)
	}
	if drawn, err := os.ReadFile(picture); err != nil || !strings.Contains(string(drawn), ">RssAnon<") {
		t.Errorf("the picture shows no memory (%v)", err)
	}
	var verdict strings.Builder
	if err := r.judge(&verdict); err != nil || !strings.Contains(verdict.String(), "too short") {
		t.Errorf("the verdict on three seconds is %q, %v", verdict.String(), err)
	}
}

// sampled returns a report of half an hour in which memory follows a function and everything else is
// constant.
func sampled(memory func(minute float64) float64) *report {
	r := &report{}
	for at := 10 * time.Second; at <= 30*time.Minute; at += 10 * time.Second {
		s := sample{at: at, live: 300, files: 40, goroutines: 3000, anonymous: memory(at.Minutes())}
		for v := range s.latency {
			s.latency[v].p99 = 5 + math.Mod(at.Seconds(), 3) // varies without growing
		}
		r.samples = append(r.samples, s)
	}
	return r
}

func TestConstantSeriesAreFlat(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]func(float64) float64{
		"constant":                          func(float64) float64 { return 500 },
		"a saw":                             func(m float64) float64 { return 500 + 100*math.Mod(m*7, 1) },
		"filled in the first five minutes":  func(m float64) float64 { return 200 + 60*min(m, 5) },
		"with a sample that stands out far": func(m float64) float64 { return 500 + 5000*math.Trunc(m/29.9) },
		"falling":                           func(m float64) float64 { return 500 - 3*m },
	} {
		var verdict strings.Builder
		if err := sampled(memory).judge(&verdict); err != nil {
			t.Errorf("%s: %v\n%s", name, err, verdict.String())
		}
	}
}

func TestGrowingSeriesAreNotFlat(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]func(float64) float64{
		"2 MiB each minute":       func(m float64) float64 { return 500 + 2*m },
		"a saw that climbs":       func(m float64) float64 { return 500 + 100*math.Mod(m*7, 1) + 4*m },
		"only in the second half": func(m float64) float64 { return 500 + 20*max(0, m-15) },
	} {
		var verdict strings.Builder
		if err := sampled(memory).judge(&verdict); err == nil || !strings.Contains(verdict.String(), "RssAnon") ||
			!strings.Contains(verdict.String(), "NOT FLAT") {
			t.Errorf("%s is flat: %v\n%s", name, err, verdict.String())
		}
	}
}
