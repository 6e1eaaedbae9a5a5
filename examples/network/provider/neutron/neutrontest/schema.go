package neutrontest

import (
	_ "embed" // for schema.py
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

//go:embed schema.py
var schemaProgram string

// database is a database file with Neutron's tables and nothing in them. Making one takes seconds, so a process does it
// once.
var database = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "neutrontest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "neutron.sqlite")
	// The system's Python is the one that has Neutron; another may come first in PATH.
	if out, err := exec.Command(python, "-c", schemaProgram, file).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make Neutron's tables: %w\n%s", err, out)
	}
	return os.ReadFile(file)
})
