package main

import (
	"context"
	"runtime"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// forks measures the cost of a fork of a plane.
func forks() measurement {
	return measurement{
		figures: []figure{
			{"fork at 100,000 objects: state", milliseconds, 1},
			{"fork at 100,000 objects: first request answered", milliseconds, 10},
			{"fork at 100,000 objects: live heap of a fork", kibibytes, 128},
			{"fork at 100,000 objects: live heap, with 1,000 of them changed", kibibytes, 4096},
		},
		starts: true,
		run:    inChild(childFork),
	}
}

// forked is the number of timed forks, of which the median is used; alive is the number of simultaneous forks
// when their memory is measured.
const forked, alive = 50, 10

// measureForks prints the duration of forks in milliseconds, and the memory of each in KiB.
func measureForks(ctx context.Context, _ []string) error {
	state, err := timeForks(ctx)
	if err != nil {
		return err
	}
	plane, err := bowline.Start(ctx, bowline.Options{})
	if err != nil {
		return err
	}
	defer plane.Close()
	client, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		return err
	}
	if err := drive(ctx, 16, many, createConfigMap(ctx, client, metav1.NamespaceDefault)); err != nil {
		return err
	}
	first, err := timeFirstRequests(ctx, plane)
	if err != nil {
		return err
	}
	idle, changed, err := forkMemory(ctx, plane)
	if err != nil {
		return err
	}
	return printJSON([]float64{inMilliseconds(state), inMilliseconds(first), idle, changed})
}

func inMilliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func medianOf(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// timeForks returns the time to fork a store and to commit a first write to the fork.
func timeForks(ctx context.Context) (time.Duration, error) {
	s, err := openStore(ctx, memory.New())
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if _, err := s.commitRange(ctx, 16, 0, many, store.Absent()); err != nil {
		return 0, err
	}
	var took []time.Duration
	for i := range forked {
		change, err := s.change(i*7919%many, store.Anything())
		if err != nil {
			return 0, err
		}
		start := time.Now()
		f, err := s.Fork(ctx)
		if err != nil {
			return 0, err
		}
		if _, err := f.Commit(ctx, change); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
		if err := f.Close(); err != nil {
			return 0, err
		}
	}
	return medianOf(took), nil
}

// timeFirstRequests returns the time from the call of Fork until a client of the fork has read an object.
func timeFirstRequests(ctx context.Context, plane *bowline.Plane) (time.Duration, error) {
	var took []time.Duration
	for i := range forked {
		start := time.Now()
		f, err := plane.Fork(ctx)
		if err != nil {
			return 0, err
		}
		client, err := kubernetes.NewForConfig(f.RESTConfig())
		if err != nil {
			return 0, err
		}
		if _, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(ctx, configMapName(i*7919%many),
			metav1.GetOptions{}); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
		if err := f.Close(); err != nil {
			return 0, err
		}
	}
	return medianOf(took), nil
}

// forkMemory returns how much each fork adds to the live heap, in KiB: right after the fork, and after a
// thousand updates.
func forkMemory(ctx context.Context, plane *bowline.Plane) (idle, changed float64, err error) {
	before := liveBytes()
	var forks [alive]*bowline.Plane
	for i := range forks {
		if forks[i], err = plane.Fork(ctx); err != nil {
			return 0, 0, err
		}
		defer forks[i].Close()
	}
	idle = (liveBytes() - before) / alive / 1024
	for _, f := range forks {
		client, err := kubernetes.NewForConfig(f.RESTConfig())
		if err != nil {
			return 0, 0, err
		}
		if err := drive(ctx, 16, 1_000, func(i int) error {
			cm := configMap(i)
			cm.Labels = map[string]string{"changed": "true"}
			_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Update(ctx, cm, metav1.UpdateOptions{})
			return err
		}); err != nil {
			return 0, 0, err
		}
	}
	changed = (liveBytes() - before) / alive / 1024
	return idle, changed, nil
}

// liveBytes returns the live heap of this process.
func liveBytes() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
