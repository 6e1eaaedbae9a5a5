// Package leak finds goroutines, files and sockets that the tests of a package leave open. It is called by
// TestMain.
package leak

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package and exits the process, with an error if they failed or left something
// open. Without /proc, files are not checked.
func Main(m *testing.M, ignore ...goleak.Option) {
	before := open()
	ignore = append(ignore, goleak.Cleanup(func(code int) {
		for descriptor, file := range open() {
			if before[descriptor] != file && code == 0 {
				fmt.Fprintf(os.Stderr, "leak: %s is open after the tests\n", file)
				code = 1
			}
		}
		os.Exit(code)
	}))
	goleak.VerifyTestMain(m, ignore...)
}

// open returns the open files of the process by descriptor, except those that the runtime and package testing
// open.
func open() map[string]string {
	names, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return nil // the pattern is well-formed
	}
	files := map[string]string{}
	for _, name := range names {
		file, err := os.Readlink(name)
		runtimes := strings.HasPrefix(file, "anon_inode:") || strings.HasPrefix(file, "/sys/") ||
			strings.HasPrefix(file, "/proc/")
		if err == nil && !runtimes && !strings.HasPrefix(file, os.TempDir()+"/go-build") {
			files[name] = file
		}
	}
	return files
}
