package helm3

import (
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

const (
	ns      = metav1.NamespaceDefault
	timeout = 30 * time.Second
)

var boats = schema.GroupVersionResource{Group: "fleet.example.com", Version: "v1", Resource: "boats"}

type values = map[string]any

// fixture is a plane, Helm's release storage, and clients that inspect the results.
type fixture struct {
	kubeconfig string
	cacheDir   string
	chart      *chart.Chart
	clients    kubernetes.Interface
	objects    dynamic.Interface
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	config := plane.Start(t)
	plane.Node(t, config)
	return &fixture{
		kubeconfig: plane.Kubeconfig(t, config),
		cacheDir:   t.TempDir(),
		chart:      plane.Must(loader.Load("../testdata/fleet"))(t),
		clients:    plane.Must(kubernetes.NewForConfig(config))(t),
		objects:    plane.Must(dynamic.NewForConfig(config))(t),
	}
}

// helm returns Helm's configuration for one namespace, as its command derives it from the command line.
func (w *fixture) helm(t *testing.T, namespace, driver string) *action.Configuration {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.CacheDir, flags.Namespace = &w.kubeconfig, &w.cacheDir, &namespace
	flags.WrapConfigFn = func(c *rest.Config) *rest.Config { c.Burst = 100; return c } // as in Helm's command
	c := &action.Configuration{}
	if err := c.Init(flags, namespace, driver, func(string, ...any) {}); err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *fixture) install(t *testing.T, c *action.Configuration, name string, v values) *release.Release {
	t.Helper()
	i := action.NewInstall(c)
	i.ReleaseName, i.Namespace, i.Wait, i.Timeout = name, ns, true, timeout
	return plane.Must(i.Run(w.chart, v))(t)
}

func (w *fixture) upgrade(c *action.Configuration, name string, v values) (*release.Release, error) {
	u := action.NewUpgrade(c)
	u.Namespace, u.Wait, u.Timeout = ns, true, timeout
	return u.Run(name, w.chart, v)
}

// boat returns the spec of a release's custom resource.
func (w *fixture) boat(t *testing.T, name string) (color any, tonnes any) {
	t.Helper()
	u := plane.Must(w.objects.Resource(boats).Namespace(ns).Get(t.Context(), name, metav1.GetOptions{}))(t)
	spec := u.Object["spec"].(map[string]any)
	return spec["color"], spec["tonnes"]
}
