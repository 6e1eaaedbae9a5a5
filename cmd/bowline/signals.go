package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// lastChance is how long after the first signal a stop may take that a second signal does not wait for. Some senders
// (timeout, a shell that signals a job and its group) send one signal twice, and mean one.
const lastChance = 100 * time.Millisecond

// stops are the signals that ask for an end: SIGINT, SIGTERM and, unless nohup said that it is nothing to go by, SIGHUP,
// which a terminal sends when it is closed.
func stops() []os.Signal {
	all := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// untilSignal runs until the first signal cancels the context; the second ends the process at once.
func untilSignal(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	arrived := make(chan os.Signal, 2)
	signal.Notify(arrived, stops()...)
	done := make(chan struct{})
	defer close(done)
	defer signal.Stop(arrived)
	go func() {
		if !received(arrived, done) {
			return
		}
		cancel()
		patience := time.After(lastChance)
		if !received(arrived, done) {
			return
		}
		select {
		case <-patience:
			fmt.Fprintln(os.Stderr, "bowline: second signal: stopped at once")
			os.Exit(exitFailure)
		case <-done:
		}
	}()
	return run(ctx)
}

// received waits for a signal; false means that there is nothing left to stop.
func received(arrived <-chan os.Signal, done <-chan struct{}) bool {
	select {
	case <-arrived:
		return true
	case <-done:
		return false
	}
}
