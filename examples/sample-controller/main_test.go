package main

import (
	"log/slog"
	"os"
	"testing"

	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/examples/sample-controller/internal/suite"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(program.Log, nil)))
	os.Exit(m.Run())
}

// program is the controller, as main runs it.
var program = suite.Program{Run: run, Definitions: "crd", Log: &suite.Log{}}

func TestController(t *testing.T) { suite.Behaves(t, program) }

func TestNeutronIsSlowOrFails(t *testing.T) { suite.Troubled(t, program) }

func TestServerRefusesOrIsSilent(t *testing.T) { suite.Refused(t, program) }

func TestOneObjectThatDoesNotFitHoldsUpAll(t *testing.T) { suite.Misfit(t, program, false) }

// Whatever goes wrong once, Neutron comes to have what is declared.
func TestNeutronHasWhatIsDeclaredWhateverGoesWrong(t *testing.T) {
	t.Parallel()
	suite.Explored(t, program, 40)
}

func TestExploreFindsOutWhoForgetsToLookAtTheStart(t *testing.T) {
	t.Parallel()
	suite.Forgetful(t, program)
}
