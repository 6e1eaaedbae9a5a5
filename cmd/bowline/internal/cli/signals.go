package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// secondSignalGrace is the time after the first signal in which a second signal does not end the process at
// once. Some senders send one signal twice: timeout, and a shell that signals a job and its process group.
const secondSignalGrace = 100 * time.Millisecond

// stopSignals returns the signals that stop the process: SIGINT, SIGTERM and SIGHUP, which a closing terminal
// sends. SIGHUP is omitted if it is ignored, as under nohup.
func stopSignals() []os.Signal {
	all := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// UntilSignal calls run with a context that the first signal cancels. The second signal ends the process at
// once.
func UntilSignal(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	arrived := make(chan os.Signal, 2)
	signal.Notify(arrived, stopSignals()...)
	done := make(chan struct{})
	defer close(done)
	defer signal.Stop(arrived)
	go func() {
		if !waitForSignal(arrived, done) {
			return
		}
		cancel()
		grace := time.After(secondSignalGrace)
		if !waitForSignal(arrived, done) {
			return
		}
		select {
		case <-grace:
			fmt.Fprintln(os.Stderr, "bowline: second signal: stopped at once")
			os.Exit(ExitFailure)
		case <-done:
		}
	}()
	return run(ctx)
}

// waitForSignal reports whether a signal arrived before done was closed.
func waitForSignal(arrived <-chan os.Signal, done <-chan struct{}) bool {
	select {
	case <-arrived:
		return true
	case <-done:
		return false
	}
}
