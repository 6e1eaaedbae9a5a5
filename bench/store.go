package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// storeCommits and storeReads measure only the store, in a separate process without a server or a client.
func storeCommits() measurement {
	return measurement{
		figures: []figure{
			{"commit in the store, memory, 16 writers, 1 KiB", perSecond, 150_000},
			{"commit in the store: allocated beside the object", bytesEach, 512},
		},
		starts: true,
		run:    inChild(childCommits),
	}
}

func storeReads() measurement {
	return measurement{
		figures: []figure{
			{"snapshot of 1 M objects", microseconds, 1},
			{"list of 500 from the middle of 1 M, in the store", milliseconds, 1},
			{"the same, exactly as before 420,000 updates (a minute)", milliseconds, 2},
		},
		starts: true,
		run:    inChild(childReads),
	}
}

// inChild returns a run that starts the bench with one argument and reads the values that it prints.
func inChild(name string) func(context.Context, *lab) ([]reading, error) {
	return func(ctx context.Context, _ *lab) ([]reading, error) {
		var values []float64
		if err := askChild(ctx, &values, name); err != nil {
			return nil, err
		}
		readings := make([]reading, len(values))
		for i, v := range values {
			readings[i].Value = v
		}
		return readings, nil
	}
}

// askChild runs the bench with arguments, and decodes the JSON that it prints into answer.
func askChild(ctx context.Context, answer any, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, self, args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return json.Unmarshal(out, answer)
}

// filledStore is a store of ConfigMaps of one KiB, in the form in which the server stores them.
type filledStore struct {
	*store.Store
	codec object.Codec
}

// openStore opens a store whose history can hold a minute of updates.
func openStore(ctx context.Context, l log.Log) (*filledStore, error) {
	kinds := core.Kinds(object.NewCache(0))
	i := slices.IndexFunc(kinds, func(k kind.Kind) bool { return k.Info().Kind == "ConfigMap" })
	s, err := store.New(ctx, l, store.Options{HistoryBytes: 8 << 30})
	return &filledStore{s, kinds[i]}, err
}

// change returns a change of a ConfigMap.
func (s *filledStore) change(i int, expect store.Expect) (store.Change, error) {
	name, uid := configMapName(i), fmt.Sprintf("5f0c9d1e-7a5b-4c3d-9e8f-%012d", i)
	data := make([]byte, 0, 2048)
	data = fmt.Appendf(data,
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"default","uid":%q,"resourceVersion":%q,`+
			`"creationTimestamp":"2026-01-02T03:04:05Z","managedFields":[{"manager":"bench","operation":"Update","apiVersion":"v1",`+
			`"time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:data":{}}}}]},"data":{"data":%q}}`,
		name, uid, object.RevisionPlaceholder, kibibyte)
	encoding, err := object.NewEncoding(object.Form{APIVersion: "v1"}, bytes.Clone(data)) // without excess capacity
	if err != nil {
		return store.Change{}, err
	}
	key := storeKey(i)
	return store.Change{Key: key, Object: object.New(object.Header{Key: key, UID: types.UID(uid)}, s.codec, encoding),
		Expect: expect}, nil
}

// storeChange returns a change of a ConfigMap for a store whose objects are never decoded.
func storeChange(i int, expect store.Expect) (store.Change, error) {
	return (&filledStore{}).change(i, expect)
}

func storeKey(i int) object.Key { return allConfigMaps + "default/" + object.Key(configMapName(i)) }

const allConfigMaps object.Key = "/configmaps/"

// commitRange commits n ConfigMaps by several concurrent writers. It prepares the changes first and returns
// the time of the commits alone.
func (s *filledStore) commitRange(ctx context.Context, writers, from, n int,
	expect store.Expect) (time.Duration, error) {
	const ahead = 50_000
	var took time.Duration
	for end := from + n; from < end; from += ahead {
		changes := make([]store.Change, min(ahead, end-from))
		for i := range changes {
			var err error
			if changes[i], err = s.change(from+i, expect); err != nil {
				return 0, err
			}
		}
		start := time.Now()
		if err := s.commitAll(ctx, writers, changes); err != nil {
			return 0, err
		}
		took += time.Since(start)
	}
	return took, nil
}

func (s *filledStore) commitAll(ctx context.Context, writers int, changes []store.Change) error {
	errs := make([]error, writers)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := w; i < len(changes) && errs[w] == nil; i += writers {
				_, errs[w] = s.Commit(ctx, changes[i])
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// measureCommits prints the commits per second of 16 writers, and how much each allocates.
func measureCommits(ctx context.Context, _ []string) error {
	const count, warm = 1_000_000, 50_000
	s, err := openStore(ctx, memory.New())
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.commitRange(ctx, 16, 0, warm, store.Absent()); err != nil {
		return err
	}
	took, err := s.commitRange(ctx, 16, warm, count, store.Absent())
	if err != nil {
		return err
	}
	allocated, err := s.allocatedEach(ctx, warm+count)
	if err != nil {
		return err
	}
	return printJSON([]float64{count / took.Seconds(), allocated})
}

// allocatedEach returns how many bytes a commit allocates, without the object.
func (s *filledStore) allocatedEach(ctx context.Context, from int) (float64, error) {
	const count = 50_000
	changes := make([]store.Change, count)
	for i := range changes {
		var err error
		if changes[i], err = s.change(from+i, store.Absent()); err != nil {
			return 0, err
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := s.commitAll(ctx, 16, changes); err != nil {
		return 0, err
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / count, nil
}

func printJSON(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(data))
	return err
}
