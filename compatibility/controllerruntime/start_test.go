package controllerruntime

import (
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

const ns = metav1.NamespaceDefault

// quiet is controller-runtime's logger in tests.
var quiet = logr.Discard()

func init() { log.SetLogger(quiet) } // without a logger it prints a warning after 30 s

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(s))
	utilruntime.Must(addShips(s))
	return s
}

// startWithShips starts a plane that serves ships, as an envtest suite does, and returns a client.
func startWithShips(t *testing.T) (*rest.Config, client.WithWatch) {
	t.Helper()
	config := plane.Start(t)
	scheme := newScheme()
	plane.Must(envtest.InstallCRDs(config,
		envtest.CRDInstallOptions{Scheme: scheme, Paths: []string{"testdata"}, ErrorIfPathMissing: true}))(t)
	return config, plane.Must(client.NewWithWatch(config, client.Options{Scheme: scheme}))(t)
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
