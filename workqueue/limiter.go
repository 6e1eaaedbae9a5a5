package workqueue

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter decides how long an item waits before it is retried. Implementations must be safe for concurrent use, as
// those of this package are.
type Limiter[T comparable] interface {
	// When counts a retry of the item and returns how long it must wait.
	When(item T) time.Duration
	// Forget resets the count of the item's retries.
	Forget(item T)
	// NumRequeues returns the number of retries since the item was last forgotten.
	NumRequeues(item T) int
}

// DefaultLimiter returns the limiter that Kubernetes' controllers use: the first retry of an item waits 5 ms, each
// further one twice as long, up to 1000 s; and all items together are limited to 10 retries per second after a burst of
// 100.
func DefaultLimiter[T comparable]() Limiter[T] {
	return MaxOf(
		NewExponential[T](5*time.Millisecond, 1000*time.Second),
		NewBucket[T](10, 100),
	)
}

// retries counts the retries of each item.
type retries[T comparable] struct {
	mu     sync.Mutex
	counts map[T]int
}

// next counts a retry and returns the number of earlier ones.
func (r *retries[T]) next(item T) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[T]int{}
	}
	before := r.counts[item]
	r.counts[item] = before + 1
	return before
}

// Forget resets the count of an item's retries.
func (r *retries[T]) Forget(item T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.counts, item)
	if len(r.counts) == 0 {
		r.counts = nil // maps do not shrink
	}
}

// NumRequeues returns the number of retries since the item was last forgotten.
func (r *retries[T]) NumRequeues(item T) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[item]
}

// Bucket is a token bucket shared by all items.
type Bucket[T comparable] struct {
	limiter *rate.Limiter
}

// NewBucket returns a limiter that allows perSecond retries per second, and bursts of up to burst retries.
func NewBucket[T comparable](perSecond rate.Limit, burst int) *Bucket[T] {
	return &Bucket[T]{limiter: rate.NewLimiter(perSecond, burst)}
}

// When reserves a token and returns the time until it is available.
func (b *Bucket[T]) When(T) time.Duration { return b.limiter.Reserve().Delay() }

// Forget does nothing: tokens do not belong to items.
func (b *Bucket[T]) Forget(T) {}

// NumRequeues returns 0: a bucket does not track items.
func (b *Bucket[T]) NumRequeues(T) int { return 0 }

// Exponential doubles the wait of an item with each retry.
type Exponential[T comparable] struct {
	retries[T]
	base, max time.Duration
}

// NewExponential returns a limiter whose waits start at base and are at most max.
func NewExponential[T comparable](base, max time.Duration) *Exponential[T] {
	return &Exponential[T]{base: base, max: max}
}

// When counts a retry of the item and returns base * 2^n, at most max, where n is the number of earlier retries.
func (e *Exponential[T]) When(item T) time.Duration {
	wait := float64(e.base) * math.Pow(2, float64(e.next(item)))
	if wait > float64(e.max) {
		return e.max
	}
	return time.Duration(wait)
}

// FastSlow retries an item a few times after a short wait, then after a long one.
type FastSlow[T comparable] struct {
	retries[T]
	fast, slow time.Duration
	attempts   int
}

// NewFastSlow returns a limiter that waits fast for the first attempts retries of an item, and slow after
// that.
func NewFastSlow[T comparable](fast, slow time.Duration, attempts int) *FastSlow[T] {
	return &FastSlow[T]{fast: fast, slow: slow, attempts: attempts}
}

// When counts a retry of the item and returns its wait.
func (f *FastSlow[T]) When(item T) time.Duration {
	if f.next(item) < f.attempts {
		return f.fast
	}
	return f.slow
}

// maxOf combines several limiters.
type maxOf[T comparable] []Limiter[T]

// MaxOf returns a limiter that asks all the limiters and waits for the longest of their times.
func MaxOf[T comparable](limiters ...Limiter[T]) Limiter[T] { return maxOf[T](limiters) }

func (m maxOf[T]) When(item T) time.Duration {
	var wait time.Duration
	for _, l := range m {
		wait = max(wait, l.When(item))
	}
	return wait
}

func (m maxOf[T]) Forget(item T) {
	for _, l := range m {
		l.Forget(item)
	}
}

func (m maxOf[T]) NumRequeues(item T) int {
	n := 0
	for _, l := range m {
		n = max(n, l.NumRequeues(item))
	}
	return n
}
