package neutrontest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var (
	record = flag.Bool("record", false,
		"write the answers of the real Neutron into behaviour/, instead of comparing them")
	only = flag.String("only", "*", "which script to record")
)

func TestRealNeutronContract(t *testing.T) {
	t.Parallel()
	server := ForTest(t)
	if !*record {
		Contract(t, server.ClientAs)
		return
	}
	files, err := filepath.Glob("behaviour/" + *only + ".txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		script, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(play(t, string(script), server.ClientAs)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFakeContract(t *testing.T) {
	t.Parallel()
	Contract(t, new(Fake).ClientAs)
}
