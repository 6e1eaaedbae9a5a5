// Command soak runs a server under load for a long time and checks that its resource usage stays constant.
// The load is a mix of creates, updates, patches, deletes, gets and lists, with a thousand watchers, against
// bowline up on disk. The number of objects stays the same while objects are created and deleted, so memory
// and latency must be flat: the program samples, draws and evaluates them.
//
//	go run ./soak                   # 30 minutes, in which a million objects are created and deleted
//	go run ./soak -duration 20s     # a demonstration; too short for a verdict
//
// It exits with 1 if a request failed, a watcher missed an event, or a series is not flat.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("soak: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var p plan
	flag.DurationVar(&p.duration, "duration", 30*time.Minute, "how `long` the load lasts")
	flag.DurationVar(&p.interval, "sample", 10*time.Second, "`time` between two samples")
	flag.IntVar(&p.rate, "rate", 560, "`objects` created, and deleted, each second: a million in half an hour")
	flag.IntVar(&p.population, "population", 10_000, "how many `objects` live at a time")
	flag.IntVar(&p.watchers, "watchers", 1_000, "how many `watches` are open, on shared connections")
	picture := flag.String("o", "soak.svg", "draw the samples to this `file`")
	flag.Parse()
	if flag.NArg() > 0 || p.duration < time.Second || p.rate < workers || p.population < workers {
		log.Fatalf("no arguments are taken; -duration is at least 1s, -rate and -population at least %d", workers)
	}
	if err := soak(ctx, p, *picture); err != nil {
		log.Fatal(err)
	}
}

// soak executes the plan on a new server.
func soak(ctx context.Context, p plan, picture string) (err error) {
	dir, err := os.MkdirTemp("", "bowline-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t, err := startServer(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	r, err := p.run(ctx, t, os.Stdout)
	if r != nil {
		err = errors.Join(err, draw(picture, r))
	}
	if err != nil {
		return err
	}
	fmt.Printf("\n%s objects were created of %s planned, and %s deleted; %s requests, %s events to watchers; the picture is %s\n",
		thousands(r.created), thousands(int64(p.duration.Seconds())*int64(p.rate)), thousands(r.deleted),
		thousands(r.requests),
		thousands(r.events), absolute(picture))
	return r.judge(os.Stdout)
}

func absolute(file string) string {
	if whole, err := filepath.Abs(file); err == nil {
		return whole
	}
	return file
}
