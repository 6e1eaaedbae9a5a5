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

// database returns an SQLite file with Neutron's empty tables. Creating the tables takes seconds, so each
// process does it once.
var database = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "neutrontest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "neutron.sqlite")
	// Neutron is installed for the system's Python; another one may come first in PATH.
	if out, err := exec.Command(python, "-c", schemaProgram, file).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make Neutron's tables: %w\n%s", err, out)
	}
	return os.ReadFile(file)
})
