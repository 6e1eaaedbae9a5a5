package main

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/examples/sample-controller/internal/suite"
	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/neutron"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// program is the controller, as main runs it.
var program = suite.Program{
	Definitions: "crd",
	Run: func(ctx context.Context, config *rest.Config, n neutron.Interface) error {
		return run(config, n, ctx.Done())
	},
}

func TestController(t *testing.T) { suite.Behaves(t, program) }

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
