package main

import (
	"log/slog"
	"os"
	"testing"

	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/examples/sample-controller/internal/suite"
	informers "github.com/bowline-dev/bowline/examples/sample-controller/pkg/client/informers/externalversions"
	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/neutron"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(program.Log, nil)))
	os.Exit(m.Run())
}

// program is the controller as main runs it.
var program = suite.Program{Run: run, Definitions: "crd", Log: &suite.Log{}}

func TestController(t *testing.T) { suite.Contract(t, program) }

func TestNeutronIsSlowOrFails(t *testing.T) { suite.SlowOrFailing(t, program) }

// Like all controllers based on client-go, it does not recover from a panic.
func TestPanicInNeutronIsNotRecovered(t *testing.T) {
	t.Parallel()
	networks := informers.NewSharedInformerFactory(nil, 0).Samplecrd().V1().Networks()
	controller, err := NewController(nil, nil, networks, panics{})
	if err != nil {
		t.Fatal(err)
	}
	controller.workqueue.Add("default/gone")
	defer controller.workqueue.ShutDown()
	defer func() {
		if recover() == nil {
			t.Error("the panic was recovered")
		}
	}()
	controller.processNextWorkItem()
}

type panics struct{ neutron.Interface }

func (panics) Delete(string, string) error { panic("a mistake in Neutron's client") }

func TestServerRefusesOrDoesNotAnswer(t *testing.T) { suite.Refused(t, program) }

func TestUndecodableObjectBlocksAll(t *testing.T) { suite.Undecodable(t, program, false) }

// After any single fault Neutron has the declared networks.
func TestExplore(t *testing.T) {
	t.Parallel()
	suite.Explored(t, program, 40)
}

func TestExploreDetectsMissingInitialList(t *testing.T) {
	t.Parallel()
	suite.Forgetful(t, program)
}
