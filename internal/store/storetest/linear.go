package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

func commitIsLinearizable(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	linearizable(t, s.Current(), []*store.Store{s}, true)
}

// linearizable runs random operations of several clients on stores that share their state, and checks with
// porcupine that one order of all operations explains every result. Get reads the published state, which on a
// shared log may not be the latest, so it is used only with a single store.
func linearizable(t *testing.T, base object.Revision, stores []*store.Store, get bool) {
	const clients, operations = 4, 60
	var clock atomic.Int64
	histories := make([][]porcupine.Operation, clients)
	concurrently(clients, func(client int) {
		random := rand.New(rand.NewPCG(uint64(client), 7))
		s := stores[client%len(stores)]
		known := uint64(base)
		for range operations {
			in := randomInput(random, known, get)
			call := clock.Add(1)
			out := perform(t, s, in)
			known = max(known, out.revision)
			histories[client] = append(histories[client], porcupine.Operation{
				ClientId: client, Input: in, Call: call, Output: out, Return: clock.Add(1),
			})
		}
	})
	var history []porcupine.Operation
	for _, h := range histories {
		history = append(history, h...)
	}
	judge(t, cells(uint64(base)), history)
}

// judge fails the test and draws the history if no order explains it.
func judge(t *testing.T, model porcupine.Model, history []porcupine.Operation) {
	result, info := porcupine.CheckOperationsVerbose(model, history, 30*time.Second)
	if result == porcupine.Ok {
		return
	}
	picture := filepath.Join(t.ArtifactDir(), "history.html")
	if err := porcupine.VisualizePath(model, info, picture); err != nil {
		t.Error(err)
	}
	t.Errorf("no order of the operations explains their results (%v): see %s, which go test -artifacts keeps", result,
		picture)
}

// cell is the value and revision of one key; both are 0 if it is absent.
type cell struct{ value, revision uint64 }

// cellState is the state that the operations read and write.
type cellState struct {
	revision uint64
	cells    [3]cell
}

// write is a change of one cell; the value 0 deletes.
type write struct {
	cell   int
	value  uint64
	expect cellExpect
}

// cellExpect is a precondition: nil for none, 0 for absent, else a revision.
type cellExpect *uint64

// input is a commit of writes, a read of one cell, or a read of all cells.
type input struct {
	writes []write
	get    *int
}

// output is a result: the revision of a commit or of the state read; for a conflict, the cell and its
// contents.
type output struct {
	revision uint64
	conflict int // 0 for none, else 1 + the index of the cell
	cells    [3]cell
}

func randomInput(random *rand.Rand, known uint64, get bool) input {
	switch n := random.IntN(10); {
	case n < 2:
		return input{}
	case n < 4 && get:
		i := random.IntN(3)
		return input{get: &i}
	}
	var writes []write
	for _, i := range random.Perm(3)[:1+random.IntN(2)] {
		w := write{cell: i, value: uint64(random.IntN(4))}
		switch random.IntN(4) {
		case 0:
			w.expect = new(uint64)
		case 1:
			at := known - uint64(random.IntN(3))
			w.expect = &at
		}
		writes = append(writes, w)
	}
	return input{writes: writes}
}

// cellKey distributes the cells over two resources, since commits must be atomic across resources.
func cellKey(i int) object.Key {
	if i == 2 {
		return object.KeyOf(networks, "default", "2")
	}
	return Key(strconv.Itoa(i))
}

func perform(t *testing.T, s *store.Store, in input) (out output) {
	switch {
	case in.writes != nil:
		return performWrites(t, s, in.writes)
	case in.get != nil:
		out.cells[*in.get] = cellOf(s.Get(cellKey(*in.get)))
		return out
	}
	state, err := s.Snapshot(t.Context(), store.Latest())
	if err != nil {
		t.Errorf("snapshot: %v", err)
		return out
	}
	out.revision = uint64(state.Revision())
	for i := range out.cells {
		out.cells[i] = cellOf(state.Get(cellKey(i)))
	}
	return out
}

func performWrites(t *testing.T, s *store.Store, writes []write) (out output) {
	var changes []store.Change
	for _, w := range writes {
		expect := store.Anything()
		if w.expect != nil {
			if expect = store.At(object.Revision(*w.expect)); *w.expect == 0 {
				expect = store.Absent()
			}
		}
		if w.value == 0 {
			changes = append(changes, Delete(cellKey(w.cell), expect))
		} else {
			changes = append(changes, Put(cellKey(w.cell), fmt.Sprint(w.value), expect))
		}
	}
	revision, err := s.Commit(t.Context(), changes...)
	var conflict *store.ConflictError
	switch {
	case errors.As(err, &conflict):
		for i := range out.cells {
			if cellKey(i) == conflict.Key {
				out.conflict, out.cells[i] = 1+i, cellOf(conflict.Actual)
			}
		}
	case err != nil:
		t.Errorf("commit: %v", err)
	}
	out.revision = uint64(revision)
	return out
}

func cellOf(o *object.Object) cell {
	if o == nil {
		return cell{}
	}
	value, err := strconv.ParseUint(Value(o), 10, 64)
	if err != nil {
		panic(err) // all values are numbers
	}
	return cell{value, uint64(o.Revision)}
}

// cells returns the sequential model of the operations.
func cells(base uint64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return cellState{revision: base} },
		Step: func(state, in, out any) (bool, any) {
			return in.(input).step(state.(cellState), out.(output))
		},
	}
}

// step reports whether an output is correct for a state, and returns the next state.
func (in input) step(before cellState, out output) (bool, any) {
	switch {
	case in.get != nil:
		return out.cells[*in.get] == before.cells[*in.get], before
	case in.writes == nil:
		return out.revision == before.revision && out.cells == before.cells, before
	}
	after, want := before, output{}
	for _, w := range in.writes {
		found := before.cells[w.cell]
		if w.expect != nil && found.revision != *w.expect {
			want.conflict, want.cells[w.cell] = 1+w.cell, found
			return out == want, before
		}
		if w.value == 0 && found.value == 0 {
			continue
		}
		after.revision = before.revision + 1
		after.cells[w.cell] = cell{}
		if w.value != 0 {
			after.cells[w.cell] = cell{w.value, after.revision}
		}
	}
	want.revision = after.revision
	return out == want, after
}
