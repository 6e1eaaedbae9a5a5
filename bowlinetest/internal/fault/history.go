package fault

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// Change is the change of one object by a commit.
type Change struct {
	Revision object.Revision
	Key      object.Key
	// UID and APIVersion are empty for a deletion.
	UID        types.UID
	APIVersion string
}

// History is a log in memory that records which objects each commit changed. The objects themselves are read
// from the plane, which serves old revisions.
type History struct {
	*memory.Log
	// Committed receives a value after commits. Its buffer holds one pending signal.
	Committed chan struct{}

	mu      sync.Mutex
	changes []Change
}

// NewHistory returns an empty history, for use in the bubble of its creator.
func NewHistory() *History {
	return &History{Log: memory.New(), Committed: make(chan struct{}, 1)}
}

// Append implements log.Log.
func (h *History) Append(ctx context.Context, commits []log.Commit) error {
	if err := h.Log.Append(ctx, commits); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, commit := range commits {
		for _, c := range commit.Changes {
			change := Change{Revision: commit.Revision, Key: c.Key}
			if c.Object != nil {
				change.UID, change.APIVersion = c.Object.UID, c.Object.Form().APIVersion
			}
			h.changes = append(h.changes, change)
		}
	}
	select {
	case h.Committed <- struct{}{}:
	default: // a signal is pending already
	}
	return nil
}

// Changes returns the changes from an index on. The caller must not modify them.
func (h *History) Changes(from int) []Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changes[from:len(h.changes):len(h.changes)]
}

// changed reports whether there are changes of a resource from an index on.
func (h *History) changed(from int, resource schema.GroupResource) bool {
	return slices.ContainsFunc(h.Changes(from), func(c Change) bool { return c.Key.GroupResource() == resource })
}

// before returns the revision before the last change of a resource, or 0 if there is no change.
func (h *History) before(resource schema.GroupResource) object.Revision {
	changes := h.Changes(0)
	for i := len(changes) - 1; i >= 0; i-- {
		if changes[i].Key.GroupResource() == resource {
			return changes[i].Revision - 1
		}
	}
	return 0
}

// UIDs maps every UID of the history to the key of its object.
func (h *History) UIDs() map[types.UID]object.Key {
	uids := map[types.UID]object.Key{}
	for _, c := range h.Changes(0) {
		if c.UID != "" {
			uids[c.UID] = c.Key
		}
	}
	return uids
}
