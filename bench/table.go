package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"
	"time"
)

// format formats a value with its unit.
func (u unit) format(value float64) string {
	if u == perSecond {
		return thousands(int64(value+0.5)) + "/s"
	}
	precision := 1
	switch {
	case u == times || u == timesFaster || value < 1:
		precision = 2
	case value >= 100:
		precision = 0
	}
	return strconv.FormatFloat(value, 'f', precision, 64) + " " + string(u)
}

// thousands formats 12345 as 12,345.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func printTable(to io.Writer, results []result) {
	w := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "work\treach\tmedian\tlowest to highest\treached\tclient CPU\tserver CPU")
	for _, r := range results {
		if r.err != nil {
			fmt.Fprintf(w, "%s\t%s\tfailed\t%v\tNO\t-\t-\n", r.work, r.unit.format(r.target), errors.Unwrap(r.err))
			continue
		}
		value := median(r.readings, func(x reading) float64 { return x.Value })
		lowest, highest := r.bounds()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s to %s\t%s\t%s\t%s\n", r.work, r.unit.format(r.target), r.unit.format(value),
			r.unit.format(lowest), r.unit.format(highest), yesNo(r.reached(value)),
			cpu(median(r.readings, func(x reading) time.Duration { return x.Client })),
			cpu(median(r.readings, func(x reading) time.Duration { return x.Server })))
	}
	w.Flush()
}

func (r result) bounds() (lowest, highest float64) {
	lowest, highest = r.readings[0].Value, r.readings[0].Value
	for _, x := range r.readings {
		lowest, highest = min(lowest, x.Value), max(highest, x.Value)
	}
	return lowest, highest
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "NO"
}

// cpu formats the CPU time of a request.
func cpu(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < 100*time.Microsecond:
		return strconv.FormatFloat(float64(d)/float64(time.Microsecond), 'f', 1, 64) + " µs"
	case d < 10*time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
}

// writeJSON writes every reading, for programs that compare runs.
func writeJSON(file string, results []result) error {
	type row struct {
		Work     string    `json:"work"`
		Unit     unit      `json:"unit"`
		Target   float64   `json:"target"`
		Median   float64   `json:"median"`
		Reached  bool      `json:"reached"`
		Failed   string    `json:"failed,omitempty"`
		Readings []reading `json:"readings"`
	}
	rows := make([]row, len(results))
	for i, r := range results {
		if r.err != nil {
			rows[i] = row{Work: r.work, Unit: r.unit, Target: r.target, Failed: r.err.Error()}
			continue
		}
		value := median(r.readings, func(x reading) float64 { return x.Value })
		rows[i] = row{Work: r.work, Unit: r.unit, Target: r.target, Median: value, Reached: r.reached(value),
			Readings: r.readings}
	}
	data, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
