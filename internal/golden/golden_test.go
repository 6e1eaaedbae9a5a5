package golden_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/golden"
)

const (
	recordings = "testdata"

	// total is the number of recorded responses, and least the number that must be equal.
	total, least = 1748, 1700
)

// comparedHeaders are the headers of a response that are recorded and compared.
var comparedHeaders = []string{"content-type", "warning"}

var report = flag.String("report", "", "write every difference to this file")

// result is the result of one step.
type result struct {
	file  string
	index int
	step  golden.Step
	diffs []string
}

func (r result) name() string { return fmt.Sprintf("%s[%d]", r.file, r.index) }

// sequences are groups of files that were recorded on the same server, in this order. Every other file was
// recorded on a new server.
var sequences = [][]string{
	{"kinds.json", "kinds2-other-versions.json"},
	{"configmap-patch.json", "configmap-write.json", "list-and-select.json"},
}

// TestResponsesMatchRecordings replays each sequence, and each other file, on a new server.
func TestResponsesMatchRecordings(t *testing.T) {
	all := slices.Clone(sequences)
	files, err := filepath.Glob(filepath.Join(recordings, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file := filepath.Base(path)
		if !slices.Contains(slices.Concat(sequences...), file) {
			all = append(all, []string{file})
		}
	}
	results := make([][]result, len(all))
	t.Run("files", func(t *testing.T) {
		for i, sequence := range all {
			t.Run(strings.Join(sequence, ","), func(t *testing.T) {
				t.Parallel()
				w := startServer(t)
				for _, file := range sequence {
					results[i] = append(results[i], replay(t, w, file)...)
				}
			})
		}
	})
	judge(t, slices.Concat(results...))
}

// startServer starts an empty server and connects to it as its administrator. It starts no controllers,
// because none ran when the responses were recorded.
func startServer(t *testing.T) *wire {
	t.Helper()
	plane, err := bowline.Start(context.Background(),
		bowline.Options{Listen: "127.0.0.1:0", Controllers: []string{bowline.NoControllers}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Close(); err != nil {
			t.Error(err)
		}
	})
	config, err := plane.SocketConfig()
	if err != nil {
		t.Fatal(err)
	}
	w, err := connect(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.client.CloseIdleConnections)
	return w
}

// replay sends the steps of a file in order.
func replay(t *testing.T, w *wire, file string) []result {
	t.Helper()
	var results []result
	saved := map[string]any{}
	for i, s := range golden.Steps(t, file) {
		if s.Sleep > 0 {
			continue
		}
		got, err := w.do(s, saved)
		if err != nil {
			results = append(results, result{file, i, s, []string{err.Error()}})
			continue
		}
		for name, path := range s.Save {
			saved[name] = pick(got.body, path)
		}
		results = append(results, result{file, i, s, compare(s, got)})
	}
	return results
}

// compare returns the differences between a response and the recorded one.
func compare(s golden.Step, got answer) []string {
	var diffs []string
	want := s.Response
	// The recorded server was overloaded in some steps; this one is not.
	if got.status != want.Status && !(want.Status == http.StatusTooManyRequests && got.status == http.StatusOK) {
		diffs = append(diffs, fmt.Sprintf("status: want %d, got %d: %.160q", want.Status, got.status, got.body))
	}
	for _, name := range comparedHeaders {
		if want.Headers[name] != got.headers[name] {
			diffs = append(diffs, fmt.Sprintf("header %s: want %q, got %q", name, want.Headers[name],
				got.headers[name]))
		}
	}
	recorded, err := parseJSON(string(want.Body))
	if err != nil {
		return append(diffs, "recorded body: "+err.Error())
	}
	answered := parseBody(got.body)
	object, isObject := answered.(map[string]any)
	switch {
	case len(s.Subset) > 0 && isObject:
		for _, part := range s.Subset {
			diffs = append(diffs, differences(normalize(recorded.(map[string]any)[part]), normalize(object[part]),
				"."+part)...)
		}
	case !s.StatusOnly:
		diffs = append(diffs, differences(normalize(recorded), normalize(answered), "")...)
	}
	return diffs
}

// judge compares the results with the list of known differences.
func judge(t *testing.T, results []result) {
	known := readKnown(t)
	equal := 0
	var log strings.Builder
	for _, r := range results {
		reason, listed := known[r.name()]
		delete(known, r.name())
		if len(r.diffs) == 0 {
			equal++
			if listed {
				t.Errorf("%s is as recorded: take it off the list (%s)", r.name(), reason)
			}
			continue
		}
		text := fmt.Sprintf("%s %s %s\n    %s", r.name(), r.step.Method, r.step.Path, strings.Join(r.diffs, "\n    "))
		fmt.Fprintf(&log, "%s\n", text)
		if !listed {
			t.Error(text)
		}
	}
	for name := range known {
		t.Errorf("%s is listed as different, but no such step was recorded", name)
	}
	fmt.Printf("%d of %d answers equal\n", equal, len(results))
	if len(results) != total || equal < least {
		t.Errorf("%d of %d answers equal, want at least %d of %d", equal, len(results), least, total)
	}
	if *report != "" {
		fmt.Fprintf(&log, "%d of %d answers equal\n", equal, len(results))
		if err := os.WriteFile(*report, []byte(log.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// readKnown reads the list of steps with known differences, and their reasons.
func readKnown(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok || known[name] != "" {
			t.Errorf("differences.txt: %q: want FILE[index]: reason, once", line)
		}
		known[name] = reason
	}
	return known
}
