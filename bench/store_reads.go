package main

import (
	"context"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// measureReads prints the time of a snapshot of a million objects in microseconds, and that of a page of the
// current state and of the state before a minute of updates, in milliseconds.
func measureReads(ctx context.Context, _ []string) error {
	const million, minute = 1_000_000, 420_000
	s, err := openStore(ctx, memory.New())
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.commitRange(ctx, 16, 0, million, store.Absent()); err != nil {
		return err
	}
	snapshots, err := s.timeSnapshots(ctx, million)
	if err != nil {
		return err
	}
	page, err := s.timePages(ctx, million, store.Latest())
	if err != nil {
		return err
	}
	before := s.Current()
	if _, err := s.update(ctx, million, minute); err != nil {
		return err
	}
	exact, err := s.timePages(ctx, million, store.Exactly(before))
	if err != nil {
		return err
	}
	return printJSON([]float64{float64(snapshots.Nanoseconds()) / 1e3, float64(page.Nanoseconds()) / 1e6,
		float64(exact.Nanoseconds()) / 1e6})
}

// update updates objects in pseudo-random order by one writer, and returns the median time of an update.
func (s *filledStore) update(ctx context.Context, objects, times int) (time.Duration, error) {
	durations := make([]time.Duration, times)
	for i := range durations {
		change, err := s.change(i*7919%objects, store.Anything())
		if err != nil {
			return 0, err
		}
		start := time.Now()
		if _, err := s.Commit(ctx, change); err != nil {
			return 0, err
		}
		durations[i] = time.Since(start)
	}
	return medianOf(durations), nil
}

// timeSnapshots returns the median time of a snapshot, each after an update, so that none is cached.
func (s *filledStore) timeSnapshots(ctx context.Context, objects int) (time.Duration, error) {
	durations := make([]time.Duration, 10_000)
	for i := range durations {
		change, err := s.change(i*7919%objects, store.Anything())
		if err != nil {
			return 0, err
		}
		if _, err := s.Commit(ctx, change); err != nil {
			return 0, err
		}
		start := time.Now()
		if _, err := s.Snapshot(ctx, store.Latest()); err != nil {
			return 0, err
		}
		durations[i] = time.Since(start)
	}
	return medianOf(durations), nil
}

// timePages returns the median time to get a snapshot and 500 of its objects. Each page starts at a different
// object, and the snapshot is not cached.
func (s *filledStore) timePages(ctx context.Context, objects int, which store.RevisionSelector) (time.Duration, error) {
	const page = 500
	durations := make([]time.Duration, 200)
	for i := range durations {
		change, err := s.change(i, store.Anything())
		if err != nil {
			return 0, err
		}
		if _, err := s.Commit(ctx, change); err != nil {
			return 0, err
		}
		from := storeKey(i * 7919 % (objects - page))
		start := time.Now()
		state, err := s.Snapshot(ctx, which)
		if err != nil {
			return 0, err
		}
		objectCount, bytes := 0, 0
		state.Scan(allConfigMaps, from, func(o *object.Object) bool {
			objectCount++
			bytes += len(o.Stored().Bytes())
			return objectCount < page
		})
		durations[i] = time.Since(start)
		if objectCount != page || bytes < page*1024 {
			return 0, fmt.Errorf("a page has %d objects with %d bytes", objectCount, bytes)
		}
	}
	return medianOf(durations), nil
}
