// Command bench measures Bowline's speed and memory and prints a table of figures with their targets. All
// numbers in the project's documents come from it. An unmodified client-go accesses a server process over
// loopback TLS on the same machine, without a rate limit. The command is a separate module, so that users of
// the library do not download its dependencies. README.md describes each row.
//
//	go run .                              # every row, median of 5
//	go run . -row 'get|create' -runs 1    # some of them, quickly
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 {
		if child, ok := children[os.Args[1]]; ok {
			if err := child(ctx, os.Args[2:]); err != nil {
				log.Fatal(err)
			}
			return
		}
	}
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	l := &lab{}
	flag.IntVar(&l.runs, "runs", 5, "how often each row is measured; the table shows the median")
	rows := flag.String("row", "", "measure only rows whose text matches this `regexp`")
	flag.StringVar(&l.profiles, "cpuprofile", "",
		"write CPU profiles of client and server, of the last run of each row, to this `folder`; the server is then the library without kubectl")
	output := flag.String("o", "", "write the figures of every run as JSON to this `file`")
	flag.StringVar(&l.kubeconfig, "kubeconfig", "",
		"measure the server of this kubeconfig `file`, instead of starting one; rows that start processes are left out")
	flag.IntVar(&l.pid, "pid", 0, "with -kubeconfig, the server's `process`, for its CPU and memory")
	shares := flag.String("shares", "",
		"measure nothing: print the shares of the servers' CPU time, from the profiles in this `folder`")
	flag.Parse()
	if flag.NArg() > 0 || l.runs < 1 {
		return fmt.Errorf("no arguments are taken, and -runs is at least 1")
	}
	if *shares != "" {
		return printShares(os.Stdout, *shares)
	}
	pattern, err := regexp.Compile(*rows)
	if err != nil {
		return err
	}
	if err := l.open(ctx); err != nil {
		return err
	}
	defer l.close()
	results := l.measureAll(ctx, pattern)
	l.describe(ctx, os.Stdout)
	printTable(os.Stdout, results)
	if *output != "" {
		if err := writeJSON(*output, results); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(results, func(r result) bool { return r.err != nil }) {
		return errors.New("some rows failed")
	}
	return nil
}
