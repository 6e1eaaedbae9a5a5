package attacks

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
)

// report collects the outcomes of all rows.
type report struct {
	mu     sync.Mutex
	lines  []reportLine
	failed int
}

type reportLine struct {
	area, row string
	outcome
}

func (p *report) add(area, row string, o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, reportLine{area, row, o})
	if len(o.problems) > 0 {
		p.failed++
	}
}

// log prints the table, and how many rows each area has.
func (p *report) log(t *testing.T) {
	if len(p.lines) == 0 {
		return
	}
	slices.SortStableFunc(p.lines, func(a, b reportLine) int { return strings.Compare(a.area, b.area) })
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "area\trow\tCPU ms\tpeak MiB\tanswer")
	count := map[string]int{}
	var names []string
	var costly, large reportLine
	for _, l := range p.lines {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", l.area, l.row, l.cpu.Milliseconds(), l.memory>>20, l.answer)
		if count[l.area]++; count[l.area] == 1 {
			names = append(names, l.area)
		}
		if l.cpu > costly.cpu {
			costly = l
		}
		if l.memory > large.memory {
			large = l
		}
	}
	w.Flush()
	for _, name := range names {
		fmt.Fprintf(&table, "%s %d, ", name, count[name])
	}
	fmt.Fprintf(&table, "in all %d rows, %d failed\n", len(p.lines), p.failed)
	fmt.Fprintf(&table, "most CPU time: %d ms, %s: %s\n", costly.cpu.Milliseconds(), costly.area, costly.row)
	fmt.Fprintf(&table, "highest peak: %d MiB, %s: %s\n", large.memory>>20, large.area, large.row)
	t.Log("\n" + table.String())
}
