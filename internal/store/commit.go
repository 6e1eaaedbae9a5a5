package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// proposal is a commit in progress: checked and stamped, but not durable.
type proposal struct {
	commit log.Commit
	events []*object.Event
	// discarded lists the keys of unreadable objects that the commit deletes: see UnreadableError.
	discarded []object.Key
	// resolved is closed when the outcome is known; then err holds it.
	resolved chan struct{}
	err      error
}

// staged is the state of a key in a proposal; a nil object means that the proposal deletes the key.
type staged struct {
	object   *object.Object
	proposal *proposal
}

// Commit applies changes atomically. It returns their common revision once they are durable and visible to
// every reader. At most one change may name a key. Commit returns *ConflictError if a key does not meet its
// change's precondition, and *QuotaError if the changes would exceed
// the quota. If the changes only delete absent objects or leave keys unchanged, nothing is committed,
// and Commit returns the current revision.
//
// If ctx ends before the outcome is known, the error says so; the changes may or may not be applied, and the
// store keeps their objects.
func (s *Store) Commit(ctx context.Context, changes ...Change) (object.Revision, error) {
	if err := validate(changes); err != nil {
		return 0, err
	}
	fresh := object.Revision(0)
	for {
		revision, err := s.commits.try(ctx, changes, &fresh)
		if !errors.Is(err, errRetry) {
			return revision, err
		}
	}
}

// try checks changes against the newest state and commits them. It returns errRetry if that state includes
// proposals that are still pending or were withdrawn, or if it is older than *fresh, the revision that a result
// without a commit must include. *fresh is 0 until unchanged reads it from the log.
func (c *committer) try(ctx context.Context, changes []Change, fresh *object.Revision) (object.Revision, error) {
	c.mu.Lock()
	if err := c.closed; err != nil {
		c.mu.Unlock()
		return 0, err
	}
	p, undecided, err := c.propose(changes)
	switch {
	case undecided != nil:
		c.mu.Unlock()
		return 0, retry(undecided.wait(ctx))
	case p == nil:
		checked := c.state.current // mu prevents commits, so it cannot change
		c.mu.Unlock()
		return c.unchanged(ctx, checked, err, fresh)
	case c.instant:
		waiting, err := c.appendInstantly(ctx, p)
		c.mu.Unlock()
		wake(waiting)
		return p.outcome(err)
	}
	c.enqueue(p)
	c.mu.Unlock()
	if err := p.wait(ctx); err != nil {
		return 0, fmt.Errorf("commit: its outcome is unknown: %w", err)
	}
	return p.outcome(p.err)
}

// outcome returns the result of Commit for a proposal.
func (p *proposal) outcome(err error) (object.Revision, error) {
	if err != nil {
		return 0, err
	}
	return p.commit.Revision, nil
}

// unchanged returns the outcome of changes that need no commit: the error of their check, or the revision at which
// they were checked. Other writers of a shared log may have committed before the call without this store having
// published their commits yet. If so, the check is repeated once it has: unchanged returns errRetry.
func (c *committer) unchanged(ctx context.Context, checked object.Revision, err error,
	fresh *object.Revision) (object.Revision, error) {
	if *fresh == 0 {
		current, unknown := c.log.Current(ctx)
		if unknown != nil {
			return 0, fmt.Errorf("commit: %w", unknown)
		}
		*fresh = current
	}
	switch {
	case checked < *fresh:
		return 0, retry(c.state.await(ctx, *fresh))
	case err != nil:
		return 0, err
	}
	return checked, nil
}

// retry returns errRetry, or the error of the wait that preceded the retry.
func retry(err error) error {
	if err != nil {
		return fmt.Errorf("commit: waiting for another commit: %w", err)
	}
	return errRetry
}

// wait waits for the outcome.
func (p *proposal) wait(ctx context.Context) error {
	select {
	case <-p.resolved:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// propose checks the preconditions of changes and returns a proposal, or nil if there is nothing to commit or a
// precondition fails. A nil proposal is the outcome of Commit, and must not reveal what is not durable: if any of
// the keys was last written by another pending proposal, propose returns that one as undecided, and the caller waits
// for it and checks again. The caller holds mu.
func (c *committer) propose(changes []Change) (p, undecided *proposal, err error) {
	events := make([]*object.Event, 0, len(changes))
	var discarded []object.Key
	class := Ordinary
	for _, change := range changes {
		class = max(class, change.Quota)
		before, writer := c.newest(change.Key)
		if writer != nil {
			undecided = writer
		} else if discard, err := c.discards(change); err != nil {
			return nil, undecided, err
		} else if discard {
			discarded = append(discarded, change.Key)
			continue
		}
		if !change.Expect.holds(before) {
			return nil, undecided, &ConflictError{Key: change.Key, Actual: before, expected: change.Expect}
		}
		if change.Derive != nil {
			next, err := change.derive(before)
			if err != nil {
				return nil, undecided, err
			}
			if next != nil {
				events = append(events, &object.Event{Object: next, Previous: before})
			}
			continue
		}
		if !change.Unchanged && (change.Object != nil || before != nil) {
			events = append(events, &object.Event{Object: cmp.Or(change.Object, change.Last), Previous: before,
				Deleted: change.Object == nil})
		}
	}
	if len(events)+len(discarded) == 0 {
		return nil, undecided, nil
	}
	if err := c.usage.check(events, class); err != nil {
		return nil, nil, err
	}
	p, err = newProposal(c.tip+1, events, discarded)
	return p, nil, err
}

// newest returns the newest state of a key, nil if absent, and the pending proposal that wrote it, nil if the state
// is durable. The caller holds mu, so that nothing is published.
func (c *committer) newest(key object.Key) (*object.Object, *proposal) {
	if staged, ok := c.staged[key]; ok {
		return staged.object, staged.proposal
	}
	return c.state.objects.get(key), nil
}

// newProposal stamps the objects of events with a revision. The event of a deletion without Change.Last gets a copy
// of the previous state at the new revision; the deletion of an unreadable object has no event.
func newProposal(revision object.Revision, events []*object.Event, discarded []object.Key) (*proposal, error) {
	p := &proposal{
		events: events, discarded: discarded,
		commit: log.Commit{Revision: revision, Changes: make([]log.Change, len(events), len(events)+len(discarded))},
	}
	for i, e := range events {
		var err error
		if e.Object == nil {
			e.Object, err = e.Previous.At(revision)
		} else {
			err = e.Object.Stamp(revision)
		}
		if err != nil {
			p.withdraw()
			return nil, fmt.Errorf("commit: %w", err)
		}
		if p.commit.Changes[i].Key = e.Key(); !e.Deleted {
			p.commit.Changes[i].Object = e.Object
		}
		if e.Previous != nil {
			p.commit.Changes[i].Previous = e.Previous.Revision
		}
	}
	for _, key := range discarded {
		p.commit.Changes = append(p.commit.Changes, log.Change{Key: key})
	}
	return p, nil
}

// withdraw resets the objects to uncommitted, so that their writer can use them again.
func (p *proposal) withdraw() {
	for _, e := range p.events {
		if e.Object != nil {
			e.Object.Revision = 0
		}
	}
}

// appendInstantly appends a proposal to an instant log, publishes it, and returns the channels for wake to close. The
// caller holds mu.
func (c *committer) appendInstantly(ctx context.Context, p *proposal) ([]chan struct{}, error) {
	if err := c.log.Append(ctx, []log.Commit{p.commit}); err != nil {
		p.withdraw()
		return nil, fmt.Errorf("commit: %w", err)
	}
	c.tip = p.commit.Revision
	c.usage.publish(p, false)
	waiting := c.state.publish([]*proposal{p})
	c.compactLog()
	return waiting, nil
}

// compactLog drops history that exceeds its bounds, and reports the oldest revision left to the log.
func (c *committer) compactLog() { c.log.Compact(c.state.trimHistory()) }
