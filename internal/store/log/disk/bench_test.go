package disk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// payload yields a record of about one KiB.
var payload = strings.Repeat("x", 850)

// BenchmarkCommit compares the commit rate of a store on disk with a plain loop that appends as many records
// of the same size to a file and syncs it. The two alternate, so that both run under the same disk
// conditions.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s, err := store.New(b.Context(), open(b, b.TempDir(), disk.Options{}), store.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			plain := newPlain(b, writers)
			var commits, records int
			var committing, appending, longest, longestSync time.Duration
			for b.Loop() {
				n, spent, worst := commitFor(b, s, writers, 100*time.Millisecond)
				commits, committing, longest = commits+n, committing+spent, max(longest, worst)
				n, spent, worst = plain.appendFor(b, 100*time.Millisecond)
				records, appending, longestSync = records+n, appending+spent, max(longestSync, worst)
			}
			got, want := float64(commits)/committing.Seconds(), float64(records)/appending.Seconds()
			b.ReportMetric(got, "commits/s")
			b.ReportMetric(want, "plain/s")
			b.ReportMetric(100*got/want, "%")
			b.ReportMetric(float64(longest.Microseconds())/1000, "longest-ms")
			b.ReportMetric(float64(longestSync.Microseconds())/1000, "longest-plain-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// commitFor runs writers that replace their own objects for the duration d. The changes are created before
// the clock starts.
func commitFor(b *testing.B, s *store.Store, writers int, d time.Duration) (n int, spent, longest time.Duration) {
	changes := make([][]store.Change, writers)
	for w := range changes {
		for i := range perTurn / writers {
			key := storetest.Key(fmt.Sprintf("object-%d-%d", w, i%1000))
			changes[w] = append(changes[w], storetest.Put(key, payload, store.Anything()))
		}
	}
	runtime.GC()
	counts, worst := make([]int, writers), make([]time.Duration, writers)
	var work sync.WaitGroup
	start := time.Now()
	for w := range writers {
		work.Go(func() {
			for _, c := range changes[w] {
				before := time.Now()
				if _, err := s.Commit(b.Context(), c); err != nil {
					b.Error(err)
				}
				worst[w] = max(worst[w], time.Since(before))
				counts[w]++
				if time.Since(start) > d {
					return
				}
			}
		})
	}
	work.Wait()
	spent = time.Since(start)
	for w := range writers {
		n += counts[w]
	}
	return n, spent, slices.Max(worst)
}

// perTurn bounds the commits of one measurement.
const perTurn = 20_000

// plain is the baseline: a loop that appends records and syncs.
type plain struct {
	file   *os.File
	record []byte
	group  int
}

func newPlain(b *testing.B, group int) *plain {
	f, err := os.Create(filepath.Join(b.TempDir(), "plain"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	o := storetest.NewObject(storetest.Key("object-0-0"), payload)
	record := o.AppendRecord(nil)
	b.ReportMetric(float64(len(record)), "B/record")
	return &plain{file: f, record: record, group: group}
}

func (p *plain) appendFor(b *testing.B, d time.Duration) (n int, spent, longest time.Duration) {
	start := time.Now()
	for time.Since(start) < d {
		before := time.Now()
		for range p.group {
			if _, err := p.file.Write(p.record); err != nil {
				b.Fatal(err)
			}
		}
		if err := syscall.Fdatasync(int(p.file.Fd())); err != nil {
			b.Fatal(err)
		}
		longest = max(longest, time.Since(before))
		n += p.group
	}
	return n, time.Since(start), longest
}

// BenchmarkLoad measures loading all objects of a log.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		for _, age := range []time.Duration{time.Nanosecond, time.Hour} {
			b.Run(fmt.Sprintf("objects=%d/history=%v", n, age > time.Minute), func(b *testing.B) {
				dir := b.TempDir()
				fill(b, dir, n)
				for b.Loop() {
					l := open(b, dir, disk.Options{HistoryAge: age})
					live := 0
					_, err := l.Load(b.Context(), log.Loading{
						Live:    func(*object.Object) error { live++; return nil },
						History: func(*object.Event, time.Time) error { return nil },
						Damaged: func(_ object.Key, err error) error { return err },
					})
					if err != nil || live != n {
						b.Fatal(live, err)
					}
					b.StopTimer()
					if err := l.Close(); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			})
		}
	}
}

// fill writes n objects of one KiB.
func fill(b *testing.B, dir string, n int) {
	b.Helper()
	l := open(b, dir, disk.Options{})
	next, err := l.Load(b.Context(), log.Loading{})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < n; {
		var commits []log.Commit
		for ; i < n && len(commits) < 500; i++ {
			next++
			o := storetest.NewObject(storetest.Key(fmt.Sprintf("object-%07d", i)), payload)
			if err := o.Stamp(next); err != nil {
				b.Fatal(err)
			}
			commits = append(commits, log.Commit{Revision: next, Changes: []log.Change{{Key: o.Key, Object: o}}})
		}
		if err := l.Append(b.Context(), commits); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}
