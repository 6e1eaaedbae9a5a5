package disk_test

import (
	"testing"

	"github.com/bowline-dev/bowline/internal/leak"
)

// TestMain fails if tests leak goroutines or open files.
func TestMain(m *testing.M) { leak.Main(m) }
