package ownership

import (
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestMain disables the library's error handlers, which log invalid managedFields. They rate-limit themselves
// with global state in the process: between a bubble's time and real time, that would mean waiting for years.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}
