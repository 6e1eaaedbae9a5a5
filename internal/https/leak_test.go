package https

import (
	"testing"

	"github.com/bowline-dev/bowline/internal/leak"
)

// TestMain fails if tests leave goroutines or open files behind.
func TestMain(m *testing.M) { leak.Main(m) }
