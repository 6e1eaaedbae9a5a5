package disk_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/seed"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// TestNoDamageIsMissed flips a bit of a file of a store, truncates a file, or removes one. The store
// must then be refused, report the damaged objects, or have everything; it must never serve a state that was
// not written. The only exception is the last write-ahead log after a machine crash, where damage is
// indistinguishable from a torn write.
func TestNoDamageIsMissed(t *testing.T) {
	t.Parallel()
	seed := seed.Of(t)
	random := rand.New(rand.NewPCG(seed, 8))
	for _, ends := range []string{"closed", "killed", "crashed"} {
		l, memory := newLedger(seed), vfs.NewCrashableMem()
		l.work(t, memory)
		if ends != "closed" {
			s, err := reopened(t.Context(), memory)
			if err != nil {
				t.Fatal(err)
			}
			for range commits {
				if err := l.commit(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			survives := map[string]int{"killed": 100, "crashed": 0}[ends] // percentage of unsynced data
			memory = memory.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: survives, RNG: random})
			closed(t, s)
		}
		counts := map[string]int{}
		hows := []string{"bit", "bit", "cut", "gone"}
		if thorough {
			hows = slices.Repeat(hows, 10)
		}
		for _, name := range must(memory.List("store"))(t) {
			if name == "LOCK" || name == "HOLDER" {
				continue
			}
			for _, how := range hows {
				copied := memory.CrashClone(vfs.CrashCloneCfg{})
				damage(t, copied, path.Join("store", name), how, random)
				outcome, back, err := l.check(t, copied)
				// After a machine crash the last write-ahead log may end anywhere, and its last block may be
				// torn.
				torn := ends == "crashed" && strings.HasSuffix(name, ".log")
				switch {
				case err != nil:
					t.Errorf("seed %d: %s, then %s of %s: %v", seed, ends, how, name, err)
				case back > 0 && !torn:
					t.Errorf("seed %d: %s, then %s of %s: the last %d commits are missing, and are not reported", seed,
						ends, how, name, back)
				case back > 0:
					outcome = "torn"
				}
				counts[fmt.Sprintf("%s of *%s: %s", how, path.Ext(name), outcome)]++
			}
		}
		t.Logf("%s: %v", ends, counts)
	}
}

// must fails the test on an error: must(f())(t) returns f's result.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// damage flips a bit of a file, truncates it, or removes it.
func damage(t *testing.T, fs vfs.FS, name, how string, random *rand.Rand) {
	t.Helper()
	f := must(fs.Open(name))(t)
	data := must(io.ReadAll(f))(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if how == "gone" || len(data) == 0 {
		if err := fs.Remove(name); err != nil {
			t.Fatal(err)
		}
		return
	}
	at := random.IntN(len(data))
	if how == "bit" {
		data[at] ^= 1 << random.IntN(8)
	} else {
		data = data[:at]
	}
	f = must(fs.Create(name, vfs.WriteCategoryUnspecified))(t)
	_, err := f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// check opens and loads a log from a damaged disk. It returns the outcome, the number of last commits that
// are missing, and an error if the log returns a state that was not written.
func (l *ledger) check(t *testing.T, fs vfs.FS) (outcome string, back int, err error) {
	opened, err := disk.Open("store", disk.Options{FS: fs})
	if err != nil {
		return checkRejection(err)
	}
	defer func() { _ = opened.Close() }() // Close may report the damage too
	live, damaged := map[object.Key]string{}, map[object.Key]bool{}
	revision, err := opened.Load(t.Context(), log.Loading{
		Live:    func(o *object.Object) error { live[o.Key] = storetest.Value(o); return nil },
		History: func(*object.Event, time.Time) error { return nil },
		Damaged: func(key object.Key, _ error) error { damaged[key] = true; return nil },
	})
	if err != nil {
		return checkRejection(err)
	}
	return l.compare(revision, live, damaged)
}

func checkRejection(err error) (string, int, error) {
	if !strings.Contains(err.Error(), "store") {
		return "", 0, fmt.Errorf("the error does not name the folder: %w", err)
	}
	return "refused", 0, nil
}

// compare compares the loaded contents of a log with what was written.
func (l *ledger) compare(revision object.Revision, live map[object.Key]string,
	damaged map[object.Key]bool) (string, int, error) {
	back := int(l.base) + l.acked - int(revision)
	if back < 0 || back > l.acked {
		return "", back, fmt.Errorf("it is at revision %d, %d before the last", revision, back)
	}
	want := append(slices.Clone(l.earlier), l.state)[l.acked-back]
	outcome := "whole"
	if len(damaged) > 0 {
		outcome = "named"
		want = maps.Clone(want)
		maps.DeleteFunc(want, func(key object.Key, _ string) bool { return damaged[key] })
	}
	if !maps.Equal(live, want) {
		return "", back, fmt.Errorf("with %d named there is\n%s\nnot\n%s", len(damaged), summary(live), summary(want))
	}
	return outcome, back, nil
}
