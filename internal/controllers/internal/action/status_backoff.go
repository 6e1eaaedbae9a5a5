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

// Delay returns how long to wait before the status current is replaced with next.
func (t *StatusBackoff[Status]) Delay(request controller.Request, current, next Status) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	record := t.records[request]
	if record == nil || equality.Semantic.DeepEqual(current, record.last) ||
		!equality.Semantic.DeepEqual(next, record.last) {
		return 0
	}
	now := time.Now()
	if record.retryAt.IsZero() {
		record.retryAt = now.Add(min(time.Second<<min(record.conflicts, 8), maxStatusBackoff))
		record.conflicts++
	}
	return max(0, record.retryAt.Sub(now))
}

// IsLastWritten reports whether current is the status that was last written, or the zero status if none was.
// If so, no other controller writes it.
func (t *StatusBackoff[Status]) IsLastWritten(request controller.Request, current Status) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var last Status
	if record := t.records[request]; record != nil {
		last = record.last
	}
	return equality.Semantic.DeepEqual(current, last)
}

// Written records that status was written.
func (t *StatusBackoff[Status]) Written(request controller.Request, status Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.records == nil {
		t.records = map[controller.Request]*statusRecord[Status]{}
	}
	if record := t.records[request]; record != nil && equality.Semantic.DeepEqual(status, record.last) {
		record.retryAt = time.Time{}
		return
	}
	t.records[request] = &statusRecord[Status]{last: status}
}

// Delete removes the record of an object that no longer exists.
func (t *StatusBackoff[Status]) Delete(request controller.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.records, request)
}
