package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
)

// process is a process ID; 0 means unknown.
type process int

// clockTick is the unit of CPU time in /proc, which is 1/100 s on every Linux.
const clockTick = 10 * time.Millisecond

// cpuTime returns the CPU time of the process so far, in user and system mode.
func (p process) cpuTime() (time.Duration, error) {
	if p == 0 {
		return 0, nil
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(data, []byte(") ")) // the command name may contain any characters
	fields := strings.Fields(string(rest))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// anonymousMemory returns RssAnon from /proc/PID/status, in MiB.
func (p process) anonymousMemory() (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d: no RssAnon", p)
}

// ownCPU returns the CPU time of this process so far.
func ownCPU() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// spent is the cost of a number of requests. The zero value, returned with an error, yields no readings.
type spent struct {
	elapsed, client, server time.Duration
	requests                int
}

// rate returns the reading of a row that counts requests per second.
func (s spent) rate() reading {
	return reading{float64(s.requests) / s.elapsed.Seconds(), s.client / time.Duration(s.requests),
		s.server / time.Duration(s.requests)}
}

// each returns the reading of a row that measures a single request.
func (s spent) each() reading {
	r := s.rate()
	r.Value = float64(s.elapsed.Microseconds()) / 1000 / float64(s.requests)
	return r
}

// measure measures work that sends a number of requests, and profiles it if profiles are requested.
func (s *server) measure(name string, requests int, work func() error) (spent, error) {
	stop, err := s.profileBoth(name)
	if err != nil {
		return spent{}, err
	}
	var before, after spent
	if before, err = s.used(); err != nil {
		return spent{}, err
	}
	start := time.Now()
	err = work()
	elapsed := time.Since(start)
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	if err != nil {
		return spent{}, err
	}
	if after, err = s.used(); err != nil {
		return spent{}, err
	}
	return spent{elapsed, after.client - before.client, after.server - before.server, requests}, nil
}

func (s *server) used() (spent, error) {
	client, err := ownCPU()
	if err != nil {
		return spent{}, err
	}
	served, err := s.process.cpuTime()
	return spent{client: client, server: served}, err
}

// profileBoth starts CPU profiles of both processes. The server is then a child process of the bench, which
// profiles itself.
func (s *server) profileBoth(name string) (stop func() error, err error) {
	if s.lab.profiles == "" {
		return func() error { return nil }, nil
	}
	dir, err := filepath.Abs(s.lab.profiles)
	if err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(dir, name+"-client.pprof"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, err
	}
	if s.profile != nil {
		fmt.Fprintln(s.profile, filepath.Join(dir, name+"-server.pprof"))
	}
	return func() error {
		pprof.StopCPUProfile()
		if s.profile != nil {
			fmt.Fprintln(s.profile)
		}
		return file.Close()
	}, nil
}

// metrics returns the values in the server's /metrics that have no labels.
func (s *server) metrics(ctx context.Context) (map[string]float64, error) {
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return nil, err
	}
	data, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil {
			values[name] = v
		}
	}
	return values, nil
}

// noteGOGC stores the server's GOGC for the head of the table.
func (l *lab) noteGOGC(ctx context.Context, s *server) {
	if s.config == nil || l.gogc != "" {
		return
	}
	if values, err := s.metrics(ctx); err == nil && values["go_gc_gogc_percent"] > 0 {
		l.gogc = strconv.FormatFloat(values["go_gc_gogc_percent"], 'f', 0, 64)
	}
}
