package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/examples/sample-controller/internal/suite"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(program.Log, nil)))
	klog.SetSlogLogger(slog.Default())
	os.Exit(m.Run())
}

var program = suite.Program{Run: run, Definitions: filepath.Join("..", "crd"), Log: &suite.Log{}}

func TestController(t *testing.T) { suite.Contract(t, program) }

func TestTransformRemovesUnusedFields(t *testing.T) {
	t.Parallel()
	network := func() *Network {
		return &Network{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "u", ResourceVersion: "7",
				Generation: 2,
				Labels:     map[string]string{"k": "v"}, Finalizers: []string{"example.com/held"}},
			Spec: NetworkSpec{Cidr: "10.0.0.0/8", Gateway: "10.0.0.1"},
		}
	}
	full := network()
	full.TypeMeta = metav1.TypeMeta{APIVersion: "samplecrd.k8s.io/v1", Kind: "Network"}
	full.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	if got, err := slim(full); err != nil || !reflect.DeepEqual(got, client.Object(network())) {
		t.Errorf("the transform returned %+v, %v", got, err)
	}
}

func TestNeutronIsSlowOrFails(t *testing.T) { suite.SlowOrFailing(t, program) }

func TestPanicInNeutronIsRetried(t *testing.T) { suite.Panics(t, program) }

func TestServerRefusesOrDoesNotAnswer(t *testing.T) { suite.Refused(t, program) }

func TestUndecodableObjectBlocksNoOther(t *testing.T) { suite.Undecodable(t, program, true) }

// After any single fault Neutron has the declared networks.
func TestExplore(t *testing.T) {
	t.Parallel()
	suite.Explored(t, program, 40)
}

func TestExploreDetectsMissingInitialList(t *testing.T) {
	t.Parallel()
	suite.Forgetful(t, program)
}
