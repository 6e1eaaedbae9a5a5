package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
)

// growthSizes are the numbers of objects in the store, one for each point of a line.
var growthSizes = []int{1_000, 10_000, 100_000, 1_000_000}

// growthCosts are the measured costs and their units, in the order of the table.
var growthCosts = []struct {
	name string
	unit unit
}{
	{"commit, in memory", "µs"},
	{"commit, on disk, 64 writers", "µs"},
	{"get", "µs"},
	{"page of 500", "µs"},
	{"page of 500, exactly, after 10,000 updates", "µs"},
	{"snapshot, right after an update", "µs"},
	{"watch resumes after 1,000 missed events", "µs"},
	{"fork of a store", "µs"},
	{"fork of a plane, until its first answer", "ms"},
	{"start from disk, the store", "ms"},
	{"start from disk, until the plane's first answer", "ms"},
	{"get by a client in process, on disk", "µs"},
	{"create by a client in process, on disk", "µs"},
	{"memory per object of 1 KiB", "bytes"},
	{"of these, beside its encoding", "bytes"},
}

// growth measures how costs grow with the number of objects, and prints a table.
func growth(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("growth", flag.ExitOnError)
	largest := flags.Int("largest", 1_000_000, "measure no more than this many `objects`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "bowline-growth-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	measured := map[int]map[string]float64{}
	for _, n := range growthSizes {
		if n > *largest {
			break
		}
		fmt.Fprintf(os.Stderr, "%s objects\n", thousands(int64(n)))
		costs := map[string]float64{}
		folder := filepath.Join(scratch, strconv.Itoa(n))
		if err := askChild(ctx, &costs, childGrowth, strconv.Itoa(n), folder); err != nil {
			return err
		}
		measured[n] = costs
	}
	printGrowth(measured)
	return nil
}

func printGrowth(measured map[int]map[string]float64) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprint(w, "cost")
	for _, n := range growthSizes {
		fmt.Fprintf(w, "\t%s objects", thousands(int64(n)))
	}
	fmt.Fprintln(w)
	for _, c := range growthCosts {
		fmt.Fprint(w, c.name)
		for _, n := range growthSizes {
			if cost, ok := measured[n][c.name]; ok {
				fmt.Fprintf(w, "\t%s", c.unit.format(cost))
			}
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}
