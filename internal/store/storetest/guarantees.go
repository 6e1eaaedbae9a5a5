package storetest

import (
	"testing"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// guaranteesHoldUnderFaults records many clients of one store whose log delays and fails appends.
func guaranteesHoldUnderFaults(t *testing.T, l log.Log) {
	e := newEpisode(t)
	e.stores = []*store.Store{start(t, newChaos(l, e.seed), store.Options{})}
	e.begin()
	e.run(t, 4, 60, nil)
	e.end(t)
}

// guaranteesHoldForSlowWatchers records watchers that fall behind the history, at least one of them for
// certain. They list and resume from there.
func guaranteesHoldForSlowWatchers(t *testing.T, l log.Log) {
	e := newEpisode(t)
	e.patient = true
	e.stores = []*store.Store{start(t, l, store.Options{HistoryBytes: 12_000})}
	e.begin()
	e.watching[0].lazy = true
	e.run(t, 4, 60, nil)
	e.end(t)
	if e.slow.Load() == 0 {
		t.Error("no watcher fell behind the history: the test is inconclusive")
	}
}

// guaranteesHoldAcrossReopening records clients of a durable log over several lives of its store, each of which
// ends while they are running.
func guaranteesHoldAcrossReopening(t *testing.T, open Reopen) {
	e := newEpisode(t)
	for round := range uint64(4) {
		s := start(t, newChaos(open(), e.seed+round), store.Options{})
		e.stores = []*store.Store{s}
		if round == 0 {
			e.begin()
		}
		e.run(t, 4, 40, func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	e.stores = []*store.Store{start(t, open(), store.Options{})}
	e.run(t, 2, 10, nil)
	e.end(t)
}

// guaranteesHoldForTwoStores records clients of two stores that share a log.
func guaranteesHoldForTwoStores(t *testing.T, open Reopen) {
	e := newEpisode(t)
	for i := range uint64(2) {
		e.stores = append(e.stores, start(t, newChaos(open(), e.seed+i), store.Options{}))
	}
	e.begin()
	e.run(t, 4, 40, nil)
	e.end(t)
}
