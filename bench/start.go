package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
)

// processStart measures a server that finds the keys of an earlier start.
func processStart() measurement {
	return measurement{
		figures: []figure{{"process start to /readyz", milliseconds, 70}},
		starts:  true,
		run: func(ctx context.Context, l *lab) ([]reading, error) {
			state, err := os.MkdirTemp(l.dir, "state-")
			if err != nil {
				return nil, err
			}
			if _, err := l.timeStart(ctx, state); err != nil {
				return nil, err
			}
			return l.timeStart(ctx, state)
		},
	}
}

// firstProcessStart measures a server that generates its keys.
func firstProcessStart() measurement {
	return measurement{
		figures: []figure{{"the first process start, which makes keys, to /readyz", milliseconds, 200}},
		starts:  true,
		run: func(ctx context.Context, l *lab) ([]reading, error) {
			state, err := os.MkdirTemp(l.dir, "state-")
			if err != nil {
				return nil, err
			}
			return l.timeStart(ctx, state)
		},
	}
}

// timeStart returns the time from exec to the first successful response of /readyz, with a state folder.
func (l *lab) timeStart(ctx context.Context, state string) ([]reading, error) {
	dir := filepath.Join(state, "bowline")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.Remove(kubeconfig); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	up := exec.Command(l.binary, "up", "--listen", "127.0.0.1:0")
	up.Env = append(os.Environ(), "XDG_STATE_HOME="+state)
	start := time.Now()
	s, err := l.launch(ctx, kubeconfig, up)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(s.config)
	if err == nil {
		_, err = client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	}
	elapsed := time.Since(start)
	server, cpuErr := s.process.cpuTime()
	if err := errors.Join(err, cpuErr, s.stop(context.WithoutCancel(ctx))); err != nil {
		return nil, err
	}
	return []reading{{Value: float64(elapsed.Microseconds()) / 1000, Server: server}}, nil
}

// planeStart measures planes in a separate process: the first one, and the median of the following ones.
func planeStart() measurement {
	return measurement{
		figures: []figure{
			{"first Start() in a process to the first create done", milliseconds, 5},
			{"each next Start() to its first create done", milliseconds, 5},
		},
		starts: true,
		run: func(ctx context.Context, _ *lab) ([]reading, error) {
			self, err := os.Executable()
			if err != nil {
				return nil, err
			}
			child := exec.CommandContext(ctx, self, childStart)
			child.Stderr = os.Stderr
			out, err := child.Output()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", child, err)
			}
			var micros []float64
			if err := json.Unmarshal(out, &micros); err != nil {
				return nil, err
			}
			next := micros[1:]
			slices.Sort(next)
			return []reading{{Value: micros[0] / 1000}, {Value: next[len(next)/2] / 1000}}, nil
		},
	}
}
