package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/examples/sample-controller/internal/suite"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

var program = suite.Program{Run: run, Definitions: filepath.Join("..", "crd")}

func TestController(t *testing.T) { suite.Behaves(t, program) }

func TestOneObjectThatDoesNotFitHoldsUpNoOther(t *testing.T) { suite.Misfit(t, program, true) }

// Whatever goes wrong once, Neutron comes to have what is declared.
func TestNeutronHasWhatIsDeclaredWhateverGoesWrong(t *testing.T) {
	t.Parallel()
	suite.Explored(t, program, 40)
}

func TestExploreFindsOutWhoForgetsToLookAtTheStart(t *testing.T) {
	t.Parallel()
	suite.Forgetful(t, program)
}
