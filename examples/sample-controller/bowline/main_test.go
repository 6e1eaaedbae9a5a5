package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/examples/sample-controller/internal/suite"
)

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

var program = suite.Program{Run: run, Definitions: filepath.Join("..", "crd")}

func TestController(t *testing.T) { suite.Behaves(t, program) }
