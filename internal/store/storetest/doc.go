// Package storetest tests the contract of package store on every log. A log's tests call Run, RunDurable if
// it outlives its process, and RunShared if several stores may write to it.
//
// The guarantees of watches are named as in etcd's robustness tests: filtered, ordered, unique, atomic,
// reliable, resumable, bookmarkable. In addition to a test of each, the suite records the histories of many
// clients under faults, and package robustness, which shares no code with the store, checks them.
//
// Journal is a test log that stores commits as bytes, and can be reopened and shared. Faults delays or fails
// a store's appends to the underlying log.
package storetest

import (
	"testing"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// Open returns a new, empty log. Its objects are created by NewObject.
type Open func(t *testing.T) log.Log

// contract is a test of the suite. It starts its stores with start.
type contract func(t *testing.T, start func(store.Options) *store.Store)

// Run tests the contract of every store.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]contract{
		"EachCommitHasOneRevision":              eachCommitHasOneRevision,
		"FailedCommitChangesNothing":            failedCommitChangesNothing,
		"PreconditionsAreChecked":               preconditionsAreChecked,
		"DeletingAbsentKeyCommitsNothing":       deletingAbsentKeyCommitsNothing,
		"UnchangedKeyIsOnlyChecked":             unchangedKeyIsOnlyChecked,
		"CommitRejectsInvalidChanges":           commitRejectsInvalidChanges,
		"ObjectOfFailedCommitIsReusable":        objectOfFailedCommitIsReusable,
		"ClaimHasOneWinner":                     claimHasOneWinner,
		"ConcurrentIncrementsAreNotLost":        concurrentIncrementsAreNotLost,
		"DerivedStateIsExact":                   derivedStateIsExact,
		"DerivedNothingLeavesKey":               derivedNothingLeavesKey,
		"CommitIsLinearizable":                  commitIsLinearizable,
		"RandomOperationsMatchModel":            randomOperationsMatchModel,
		"QuotaRejectsGrowth":                    quotaRejectsGrowth,
		"NamespaceQuotaRejectsGrowth":           namespaceQuotaRejectsGrowth,
		"QuotaHoldsForConcurrentCommits":        quotaHoldsForConcurrentCommits,
		"SnapshotNeverChanges":                  snapshotNeverChanges,
		"SnapshotAtEveryRevision":               snapshotAtEveryRevision,
		"SnapshotRejectsUnavailableRevisions":   snapshotRejectsUnavailableRevisions,
		"ScanIsOrderedWithinPrefix":             scanIsOrderedWithinPrefix,
		"PagesOfOneRevisionAreConsistent":       pagesOfOneRevisionAreConsistent,
		"WatchIsFiltered":                       watchIsFiltered,
		"WatchIsOrderedUniqueAndReliable":       watchIsOrderedUniqueAndReliable,
		"WatchIsAtomic":                         watchIsAtomic,
		"WatchIsResumable":                      watchIsResumable,
		"WatchIsBookmarkable":                   watchIsBookmarkable,
		"EventsHaveBothStates":                  eventsHaveBothStates,
		"DeletionEventShowsGivenState":          deletionEventShowsGivenState,
		"CommitWakesOnlyMatchingWatches":        commitWakesOnlyMatchingWatches,
		"WatchRejectsUnavailableRevisions":      watchRejectsUnavailableRevisions,
		"SlowWatchFailsInsteadOfSkippingEvents": slowWatchFailsInsteadOfSkippingEvents,
		"UnrelatedEventsDoNotMakeWatchSlow":     unrelatedEventsDoNotMakeWatchSlow,
		"HistoryIsBoundedByBytes":               historyIsBoundedByBytes,
		"CloseEndsWatchesAndRejectsCalls":       closeEndsWatchesAndRejectsCalls,
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

// start returns a store that is closed at the end of the test.
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
