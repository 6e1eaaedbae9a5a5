package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// diskCommits compares a store on disk, in its own process, with a loop that writes and syncs as many records
// of the same size to a file on the same disk. Store and loop alternate, so that both are measured under the
// same conditions.
func diskCommits() measurement {
	return measurement{
		figures: []figure{
			{"commit on disk, 16 writers, 1 KiB: share of a plain loop's records", percent, 80},
			{"the same, 64 writers", percent, 80},
			{"the longest commit on disk of 64 writers beside compactions, beyond the longest plain sync", milliseconds,
				50},
		},
		starts: true,
		run:    inChild(childDisk),
	}
}

const (
	diskTurns = 30
	diskTurn  = 100 * time.Millisecond
	// diskAhead is the number of commits prepared for a turn: more than a disk can process.
	diskAhead = 20_000
)

// measureDisk prints the figures of diskCommits.
func measureDisk(ctx context.Context, _ []string) error {
	dir, err := os.MkdirTemp("", "bowline-bench-disk-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	few, err := againstPlain(ctx, filepath.Join(dir, "few"), 16, diskTurns, store.Options{})
	if err != nil {
		return err
	}
	many, err := againstPlain(ctx, filepath.Join(dir, "many"), 64, diskTurns, store.Options{})
	if err != nil {
		return err
	}
	churn, err := againstPlain(ctx, filepath.Join(dir, "churn"), 64, 4*diskTurns, store.Options{HistoryBytes: 16 << 20})
	if err != nil {
		return err
	}
	beyond := max(0, churn.store.longest-churn.plain.longest)
	return json.NewEncoder(os.Stdout).Encode([]float64{
		few.share(), many.share(), float64(beyond.Microseconds()) / 1000,
	})
}

// turnTotals holds the totals of some turns, and the longest single write in them.
type turnTotals struct {
	count   int
	spent   time.Duration
	longest time.Duration
}

func (t *turnTotals) add(more turnTotals) {
	t.count, t.spent, t.longest = t.count+more.count, t.spent+more.spent, max(t.longest, more.longest)
}

type comparison struct{ store, plain turnTotals }

// share returns the throughput of the store as a percentage of that of the plain loop.
func (c comparison) share() float64 {
	return 100 * (float64(c.store.count) / c.store.spent.Seconds()) / (float64(c.plain.count) / c.plain.spent.Seconds())
}

// againstPlain alternates between a store and the plain loop. With a small history, the store constantly
// discards old states.
func againstPlain(ctx context.Context, dir string, writers, turns int,
	options store.Options) (c comparison, err error) {
	l, err := disk.Open(dir, disk.Options{})
	if err != nil {
		return c, err
	}
	s, err := store.New(ctx, l, options)
	if err != nil {
		return c, err
	}
	defer s.Close()
	f, err := os.Create(dir + ".plain")
	if err != nil {
		return c, err
	}
	defer f.Close()
	for range turns {
		turn, err := storeTurn(ctx, s, writers)
		if err != nil {
			return c, err
		}
		c.store.add(turn)
		if turn, err = plainTurn(f, writers); err != nil {
			return c, err
		}
		c.plain.add(turn)
	}
	return c, nil
}

// storeTurn commits prepared objects by several writers for the duration of a turn.
func storeTurn(ctx context.Context, s *store.Store, writers int) (turn turnTotals, err error) {
	changes := make([]store.Change, diskAhead)
	for i := range changes {
		if changes[i], err = storeChange(i, store.Anything()); err != nil {
			return turn, err
		}
	}
	runtime.GC()
	turns, errs := make([]turnTotals, writers), make([]error, writers)
	var group sync.WaitGroup
	start := time.Now()
	for w := range writers {
		group.Go(func() {
			for i := w; i < diskAhead && errs[w] == nil && time.Since(start) < diskTurn; i += writers {
				before := time.Now()
				_, errs[w] = s.Commit(ctx, changes[i])
				turns[w].add(turnTotals{count: 1, longest: time.Since(before)})
			}
		})
	}
	group.Wait()
	turn.spent = time.Since(start)
	for _, t := range turns {
		turn.add(t)
	}
	return turn, firstOf(errs)
}

func firstOf(errs []error) error {
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

// plainTurn writes groups of records and syncs each group.
func plainTurn(f *os.File, group int) (turn turnTotals, err error) {
	change, err := storeChange(0, store.Anything())
	if err != nil {
		return turn, err
	}
	record := change.Object.AppendRecord(nil)
	for start := time.Now(); turn.spent < diskTurn; turn.spent = time.Since(start) {
		before := time.Now()
		for range group {
			if _, err := f.Write(record); err != nil {
				return turn, err
			}
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return turn, err
		}
		turn.count += group
		turn.longest = max(turn.longest, time.Since(before))
	}
	return turn, nil
}
