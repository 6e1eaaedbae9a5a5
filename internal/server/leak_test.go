package server_test

import (
	"testing"

	"github.com/bowline-dev/bowline/internal/leak"
)

// TestMain fails when tests leave goroutines or open files behind.
func TestMain(m *testing.M) { leak.Main(m) }
