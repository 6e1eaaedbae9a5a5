// Package storetest is the contract of package store, written as tests that every log runs: a log's own tests call Run,
// RunDurable if it outlives its process, and RunShared if several stores may write to it. Nothing else calls it.
//
// The guarantees of watches have the names that etcd's robustness tests give them: filtered, ordered, unique, atomic,
// reliable, resumable, bookmarkable. Beside the tests that show each alone, histories of many clients under faults are
// recorded and re-checked by package robustness, which shares no code with the store.
//
// Journal is a log for tests that keeps commits as bytes, and can be reopened and shared; Faults holds up or fails what
// a store appends to the log beneath.
package storetest

import (
	"testing"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// Open makes a new, empty log. Objects are those of NewObject.
type Open func(t *testing.T) log.Log

// contract is a test of the suite: it makes the stores that it needs with options of its own.
type contract func(t *testing.T, start func(store.Options) *store.Store)

// Run runs all that holds for every store.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]contract{
		"EachCommitIsOneRevision":              eachCommitIsOneRevision,
		"CommitIsAllOrNone":                    commitIsAllOrNone,
		"ExpectationsAreJudged":                expectationsAreJudged,
		"DeleteOfNothingIsNoCommit":            deleteOfNothingIsNoCommit,
		"UnchangedKeyIsOnlyLookedAt":           unchangedKeyIsOnlyLookedAt,
		"CommitRefusesWhatCannotBe":            commitRefusesWhatCannotBe,
		"FailedCommitGivesItsObjectBack":       failedCommitGivesItsObjectBack,
		"ClaimHasOneWinner":                    claimHasOneWinner,
		"ConcurrentWritersLoseNothing":         concurrentWritersLoseNothing,
		"CommitIsLinearizable":                 commitIsLinearizable,
		"RandomOperationsMatchAModel":          randomOperationsMatchAModel,
		"SnapshotNeverChanges":                 snapshotNeverChanges,
		"SnapshotAtEveryRevision":              snapshotAtEveryRevision,
		"SnapshotRefusesOtherRevisions":        snapshotRefusesOtherRevisions,
		"ScanIsOrderedAndWithinItsPrefix":      scanIsOrderedAndWithinItsPrefix,
		"PagesOfOneRevisionAreConsistent":      pagesOfOneRevisionAreConsistent,
		"WatchIsFiltered":                      watchIsFiltered,
		"WatchIsOrderedUniqueAndReliable":      watchIsOrderedUniqueAndReliable,
		"WatchIsAtomic":                        watchIsAtomic,
		"WatchIsResumable":                     watchIsResumable,
		"WatchIsBookmarkable":                  watchIsBookmarkable,
		"WatchShowsBeforeAndAfter":             watchShowsBeforeAndAfter,
		"WatchShowsTheLastStateThatIsGiven":    watchShowsTheLastStateThatIsGiven,
		"WatchWakesOnlyWhomItConcerns":         watchWakesOnlyWhomItConcerns,
		"WatchRefusesOtherRevisions":           watchRefusesOtherRevisions,
		"SlowWatcherIsClosedNotGivenAGap":      slowWatcherIsClosedNotGivenAGap,
		"IdleWatcherIsNotSlow":                 idleWatcherIsNotSlow,
		"HistoryIsBoundedByBytes":              historyIsBoundedByBytes,
		"CloseEndsWatchesAndRefusesEverything": closeEndsWatchesAndRefusesEverything,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(options store.Options) *store.Store { return start(t, open(t), options) })
		})
	}
	for name, test := range map[string]func(*testing.T, log.Log){
		"GuaranteesHoldUnderFaults":     guaranteesHoldUnderFaults,
		"GuaranteesHoldForSlowWatchers": guaranteesHoldForSlowWatchers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// start makes a store that lives as long as the test.
func start(t *testing.T, l log.Log, options store.Options) *store.Store {
	t.Helper()
	s, err := store.New(t.Context(), l, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return s
}
