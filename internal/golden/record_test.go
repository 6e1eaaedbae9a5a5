package golden_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/internal/golden"
)

var record = flag.String("record", "", "instead of testing, record the answers of the server of this kubeconfig to the steps "+
	"in the files given as arguments, in these files")

// TestMain runs the tests, or records.
func TestMain(m *testing.M) {
	flag.Parse()
	if *record == "" {
		os.Exit(m.Run())
	}
	if err := recordFiles(*record, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// recordFiles sends the steps of the files to the server of a kubeconfig, and writes its answers into the files.
func recordFiles(kubeconfig string, files []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	w, err := connect(config)
	if err != nil {
		return err
	}
	defer w.client.CloseIdleConnections()
	for _, file := range files {
		if err := recordFile(w, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func recordFile(w *wire, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var steps []golden.Step
	if err := json.Unmarshal(data, &steps); err != nil {
		return err
	}
	saved := map[string]any{}
	for i := range steps {
		step := &steps[i]
		if step.Sleep > 0 {
			time.Sleep(time.Duration(step.Sleep * float64(time.Second)))
			continue
		}
		got, err := w.do(*step, saved)
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		for name, path := range step.Save {
			saved[name] = pick(got.body, path)
		}
		step.Response = recorded(got)
	}
	return writeSteps(file, steps)
}

// recorded returns the parts of an answer that the tests compare.
func recorded(a answer) golden.Response {
	headers := map[string]string{}
	for _, name := range comparedHeaders {
		if value, ok := a.headers[name]; ok {
			headers[name] = value
		}
	}
	body := json.RawMessage(a.body)
	if !json.Valid(body) {
		body = canonical(parseBody(a.body))
	}
	return golden.Response{Status: a.status, Headers: headers, Body: body}
}

// writeSteps writes a list of steps, one per line.
func writeSteps(file string, steps []golden.Step) error {
	lines := make([]string, len(steps))
	for i, step := range steps {
		lines[i] = string(canonical(step))
	}
	return os.WriteFile(file, []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o644)
}
