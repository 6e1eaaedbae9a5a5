package action

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/bowline-dev/bowline/controller"
)

// StatusBackoff delays the writes of a status that another controller keeps overwriting. Two controllers that
// run at once, one of which observes pods late, compute different statuses, and would overwrite each other as
// fast as the server answers. A controller whose status was replaced waits before it writes the same status
// again: 1 s, then 2 s, 4 s and so on up to maxStatusBackoff. A controller that runs alone never waits. The
// zero value is ready for use; it is safe for concurrent use.
type StatusBackoff[Status any] struct {
	mu      sync.Mutex
	records map[controller.Request]*statusRecord[Status]
}

// statusRecord holds the last status written to one object.
type statusRecord[Status any] struct {
	last      Status
	conflicts int       // how often it was replaced by another status
	retryAt   time.Time // when it may be written again; zero while it has not been replaced
}

// maxStatusBackoff limits the delay before a replaced status is written again.
const maxStatusBackoff = 16 * time.Second

// Delay returns how long to wait before writing next over the status stands.
func (t *StatusBackoff[Status]) Delay(of controller.Request, stands, next Status) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := t.records[of]
	if said == nil || equality.Semantic.DeepEqual(stands, said.last) || !equality.Semantic.DeepEqual(next, said.last) {
		return 0
	}
	now := time.Now()
	if said.retryAt.IsZero() {
		said.retryAt = now.Add(min(time.Second<<min(said.conflicts, 8), maxStatusBackoff))
		said.conflicts++
	}
	return max(0, said.retryAt.Sub(now))
}

// IsLastWritten reports whether stands is the status that was last written, or the zero status if none was.
// If so, no other controller writes it.
func (t *StatusBackoff[Status]) IsLastWritten(of controller.Request, stands Status) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var last Status
	if said := t.records[of]; said != nil {
		last = said.last
	}
	return equality.Semantic.DeepEqual(stands, last)
}

// Written records that status was written.
func (t *StatusBackoff[Status]) Written(of controller.Request, status Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.records == nil {
		t.records = map[controller.Request]*statusRecord[Status]{}
	}
	if said := t.records[of]; said != nil && equality.Semantic.DeepEqual(status, said.last) {
		said.retryAt = time.Time{}
		return
	}
	t.records[of] = &statusRecord[Status]{last: status}
}

// Delete removes the record of an object that no longer exists.
func (t *StatusBackoff[Status]) Delete(of controller.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.records, of)
}
