package fault

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/object"
)

// Change is what a commit did to one object.
type Change struct {
	Revision object.Revision
	Key      object.Key
	// UID and APIVersion are empty of a deletion.
	UID        types.UID
	APIVersion string
}

// History is a log in memory that remembers which objects each commit changed. What they were is asked of the plane,
// which answers for old revisions.
type History struct {
	*memory.Log
	// Committed has a value after there were commits, for whom it concerns.
	Committed chan struct{}

	mu      sync.Mutex
	changes []Change
}

// NewHistory makes one. It belongs to the bubble that it is made in.
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
	default: // somebody will look already
	}
	return nil
}

// Changes are those from an index on.
func (h *History) Changes(from int) []Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changes[from:len(h.changes):len(h.changes)]
}

// changed says whether there are changes of a resource from an index on.
func (h *History) changed(from int, resource schema.GroupResource) bool {
	return slices.ContainsFunc(h.Changes(from), func(c Change) bool { return c.Key.GroupResource() == resource })
}

// before is the revision before the last change of a resource; 0 when there was none.
func (h *History) before(resource schema.GroupResource) object.Revision {
	changes := h.Changes(0)
	for i := len(changes) - 1; i >= 0; i-- {
		if changes[i].Key.GroupResource() == resource {
			return changes[i].Revision - 1
		}
	}
	return 0
}

// UIDs names every uid that there was by the object that had it.
func (h *History) UIDs() map[types.UID]object.Key {
	uids := map[types.UID]object.Key{}
	for _, c := range h.Changes(0) {
		if c.UID != "" {
			uids[c.UID] = c.Key
		}
	}
	return uids
}
