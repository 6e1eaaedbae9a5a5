package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"

	"github.com/bowline-dev/bowline/bench/plot"
)

// growthSizes are the numbers of objects in the store, one for each point of a line.
var growthSizes = []int{1_000, 10_000, 100_000, 1_000_000}

// growthChart is a picture of how some costs grow. Its lines have the names that the measuring child process
// uses.
type growthChart struct {
	file, title, unit string
	lines             []string
}

var growthCharts = []growthChart{
	{"commit", "A commit, by how many objects there are", "µs", []string{"memory", "disk, 64 writers"}},
	{"get", "A get in the store", "µs", []string{"get"}},
	{"list", "A page of 500 objects, from anywhere", "ms", []string{"newest state", "exactly, after 10 k updates"}},
	{"snapshot", "A snapshot, right after an update", "µs", []string{"snapshot"}},
	{"watch", "A watch resumes, and takes 1,000 events", "µs", []string{"resume"}},
	{"fork", "A fork", "ms", []string{"the store", "a plane, 1st answer"}},
	{"start", "A start from disk", "ms", []string{"the store loaded", "a plane, 1st answer "}},
	{"request", "A request to a plane on disk, in process", "µs", []string{"get ", "create"}},
	{"memory", "Memory of an object of 1 KiB", "bytes", []string{"all", "beside its encoding"}},
}

// growth measures how costs grow with the number of objects, and draws the pictures.
func growth(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("growth", flag.ExitOnError)
	dir := flags.String("o", ".", "write the pictures to this `folder`")
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
	return drawGrowth(*dir, measured)
}

func printGrowth(measured map[int]map[string]float64) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprint(w, "cost\tline")
	for _, n := range growthSizes {
		fmt.Fprintf(w, "\t%s objects", thousands(int64(n)))
	}
	fmt.Fprintln(w)
	for _, c := range growthCharts {
		for _, line := range c.lines {
			fmt.Fprintf(w, "%s\t%s", c.title, line)
			for _, n := range growthSizes {
				if cost, ok := measured[n][line]; ok {
					fmt.Fprintf(w, "\t%s", unit(c.unit).format(cost))
				}
			}
			fmt.Fprintln(w)
		}
	}
	w.Flush()
}

func drawGrowth(dir string, measured map[int]map[string]float64) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, c := range growthCharts {
		chart := plot.Chart{Title: c.title, X: "objects in the store", Y: c.unit, LogX: true, LogY: true}
		for _, name := range c.lines {
			line := plot.Line{Name: name}
			for _, n := range growthSizes {
				if cost, ok := measured[n][name]; ok {
					line.Points = append(line.Points, plot.Point{X: float64(n), Y: cost})
				}
			}
			chart.Lines = append(chart.Lines, line)
		}
		if err := os.WriteFile(filepath.Join(dir, "growth-"+c.file+".svg"), plot.SVG(chart), 0o644); err != nil {
			return err
		}
	}
	return nil
}
