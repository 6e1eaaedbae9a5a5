package workqueue_test

import (
	"context"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/workqueue"
)

// A worker processes a key once, no matter how often it was added, and again after a failure.
func Example() {
	ctx := context.Background()
	q := workqueue.New(workqueue.NewExponential[string](time.Millisecond, time.Second))
	for _, key := range []string{"blue", "green", "blue"} {
		q.Add(key)
	}
	q.AddWithPriority("urgent", workqueue.High)
	fmt.Println(q.Len(), "keys")

	for range 4 {
		key, ok := q.Get(ctx)
		if !ok {
			break
		}
		if key == "green" && q.NumRequeues(key) == 0 {
			fmt.Println("failed:", key)
			q.AddRateLimited(key) // after a delay that doubles with each failure
		} else {
			fmt.Println("done:", key)
			q.Forget(key) // the next failure starts with the shortest delay
		}
		q.Done(key)
	}
	q.ShutDown()
	_, ok := q.Get(ctx)
	fmt.Println("open:", ok)
	// Output:
	// 3 keys
	// done: urgent
	// done: blue
	// failed: green
	// done: green
	// open: false
}
