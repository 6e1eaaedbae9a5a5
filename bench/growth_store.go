package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// costs contains the costs at one number of objects, by the names in growthCosts.
type costs map[string]float64

// in records a time in the given unit.
func (c costs) in(unit time.Duration, name string, took time.Duration) {
	c[name] = float64(took) / float64(unit)
}

// measureGrowth prints the costs at args[0] objects; args[1] is a folder for those on disk.
func measureGrowth(ctx context.Context, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	c := costs{}
	if err := c.inMemory(ctx, n); err != nil {
		return err
	}
	runtime.GC()
	if err := c.onDisk(ctx, n, args[1]); err != nil {
		return err
	}
	return printJSON(c)
}

func (c costs) inMemory(ctx context.Context, n int) error {
	before := liveBytes()
	s, err := openStore(ctx, memory.New())
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.commitRange(ctx, 16, 0, n, store.Absent()); err != nil {
		return err
	}
	live := (liveBytes() - before) / float64(n)
	c["memory per object of 1 KiB"], c["of these, beside its encoding"] = live,
		live-float64(len(s.Get(storeKey(0)).Stored().Bytes()))

	const updates = 10_000
	old := s.Current()
	median, err := s.update(ctx, n, updates)
	if err != nil {
		return err
	}
	c.in(time.Microsecond, "commit, in memory", median)
	c.in(time.Microsecond, "get", s.timeGets(n))
	if median, err = s.timeSnapshots(ctx, n); err != nil {
		return err
	}
	c.in(time.Microsecond, "snapshot, right after an update", median)
	if median, err = s.timePages(ctx, n, store.Latest()); err != nil {
		return err
	}
	c.in(time.Microsecond, "page of 500", median)
	if median, err = s.timePages(ctx, n, store.Exactly(old)); err != nil {
		return err
	}
	c.in(time.Microsecond, "page of 500, exactly, after 10,000 updates", median)
	if median, err = s.timeResumes(); err != nil {
		return err
	}
	c.in(time.Microsecond, "watch resumes after 1,000 missed events", median)
	if median, err = s.timeForks(ctx); err != nil {
		return err
	}
	c.in(time.Microsecond, "fork of a store", median)
	return nil
}

// timeGets returns the time of a get: the median of a thousand rounds of a hundred.
func (s *filledStore) timeGets(n int) time.Duration {
	const round = 100
	durations := make([]time.Duration, 1_000)
	var keys [round]object.Key
	for i := range durations {
		for j := range keys {
			keys[j] = storeKey((i*round + j) * 7919 % n)
		}
		start := time.Now()
		for _, key := range keys {
			s.Get(key)
		}
		durations[i] = time.Since(start) / round
	}
	return medianOf(durations)
}

// timeResumes returns the time in which a resumed watch delivers the thousand events that it missed.
func (s *filledStore) timeResumes() (time.Duration, error) {
	const missed = 1_000
	durations := make([]time.Duration, 100)
	after := s.Current() - missed
	for i := range durations {
		start := time.Now()
		w, err := s.Watch(allConfigMaps, after)
		if err != nil {
			return 0, err
		}
		events, err := w.Take(missed)
		w.Stop()
		durations[i] = time.Since(start)
		if err != nil || len(events) != missed {
			return 0, fmt.Errorf("a watch that missed %d events took %d (%w)", missed, len(events), err)
		}
	}
	return medianOf(durations), nil
}

// timeForks returns the time of a fork of the store.
func (s *filledStore) timeForks(ctx context.Context) (time.Duration, error) {
	durations := make([]time.Duration, 100)
	for i := range durations {
		start := time.Now()
		fork, err := s.Fork(ctx)
		if err != nil {
			return 0, err
		}
		durations[i] = time.Since(start)
		if err := fork.Close(); err != nil {
			return 0, err
		}
	}
	return medianOf(durations), nil
}
