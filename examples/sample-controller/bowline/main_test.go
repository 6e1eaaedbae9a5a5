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
	slog.SetDefault(slog.New(slog.NewTextHandler(program.Log, nil)))
	klog.SetSlogLogger(slog.Default())
	os.Exit(m.Run())
}

var program = suite.Program{Run: run, Definitions: filepath.Join("..", "crd"), Log: &suite.Log{}}

func TestController(t *testing.T) { suite.Behaves(t, program) }

func TestNeutronIsSlowOrFails(t *testing.T) { suite.Troubled(t, program) }

func TestAPanicOfNeutronIsTriedAgain(t *testing.T) { suite.Panics(t, program) }

func TestServerRefusesOrIsSilent(t *testing.T) { suite.Refused(t, program) }

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
