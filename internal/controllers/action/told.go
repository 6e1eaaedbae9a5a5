package action

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/bowline-dev/bowline/controller"
)

// Told is what a controller has said in the status of objects. Two controllers that work at a time, one of which hears of pods half a
// minute late, count differently, and would correct each other as fast as the server answers until then. So who finds that somebody
// else has replaced what it said, and would say just that again, waits before it does: a second, then two, and so on. One
// controller alone never waits. The zero value has said nothing; it may be used by many goroutines.
type Told[Status any] struct {
	mu sync.Mutex
	of map[controller.Request]*told[Status]
}

// told is what was said of one object.
type told[Status any] struct {
	last  Status
	times int       // how often it was replaced
	until time.Time // when it is said again; zero when it stands
}

// mostContested is how long a controller waits at most before it says again what somebody else has replaced.
const mostContested = 16 * time.Second

// Wait is how long not to say what comes next, when something else stands there.
func (t *Told[Status]) Wait(of controller.Request, stands, next Status) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := t.of[of]
	if said == nil || equality.Semantic.DeepEqual(stands, said.last) || !equality.Semantic.DeepEqual(next, said.last) {
		return 0
	}
	now := time.Now()
	if said.until.IsZero() {
		said.until = now.Add(min(time.Second<<min(said.times, 8), mostContested))
		said.times++
	}
	return max(0, said.until.Sub(now))
}

// Alone says whether what stands there is what was said last, or nothing, where nothing was said: nobody else tells of it.
func (t *Told[Status]) Alone(of controller.Request, stands Status) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var last Status
	if said := t.of[of]; said != nil {
		last = said.last
	}
	return equality.Semantic.DeepEqual(stands, last)
}

// Said notes that a status stands there now.
func (t *Told[Status]) Said(of controller.Request, status Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[controller.Request]*told[Status]{}
	}
	if said := t.of[of]; said != nil && equality.Semantic.DeepEqual(status, said.last) {
		said.until = time.Time{}
		return
	}
	t.of[of] = &told[Status]{last: status}
}

// Forget is for what is gone.
func (t *Told[Status]) Forget(of controller.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, of)
}
