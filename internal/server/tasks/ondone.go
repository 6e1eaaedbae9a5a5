package tasks

import "context"

// OnDone calls f if ctx ends before stop is called. stop waits for a running f, so f may use what is released when the
// caller of stop returns.
func OnDone(ctx context.Context, f func()) (stop func()) {
	ran := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() { defer close(ran); f() })
	return func() {
		if !cancel() {
			<-ran
		}
	}
}
