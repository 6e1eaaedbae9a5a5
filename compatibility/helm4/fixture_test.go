package helm4

import (
	"log/slog"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	release "helm.sh/helm/v4/pkg/release/v1"
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

// mode determines how Helm 4 writes and waits.
type mode struct {
	apply bool
	wait  kube.WaitStrategy
}

// serverSide returns the value of the option of upgrades and rollbacks.
func (m mode) serverSide() string {
	if m.apply {
		return "true"
	}
	return "false"
}

// fixture is a plane, Helm's release storage, and clients that inspect the results.
type fixture struct {
	mode
	helm    *action.Configuration
	chart   *chart.Chart
	clients kubernetes.Interface
	objects dynamic.Interface
}

func newFixture(t *testing.T, m mode) *fixture {
	t.Helper()
	config := plane.Start(t)
	plane.Node(t, config)
	kubeconfig, cache, namespace := plane.Kubeconfig(t, config), t.TempDir(), ns
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.CacheDir, flags.Namespace = &kubeconfig, &cache, &namespace
	flags.WrapConfigFn = func(c *rest.Config) *rest.Config { c.Burst = 100; return c } // as in Helm's command
	helm := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := helm.Init(flags, ns, "secret"); err != nil {
		t.Fatal(err)
	}
	return &fixture{
		mode: m, helm: helm,
		chart:   plane.Must(loader.Load("../testdata/fleet"))(t),
		clients: plane.Must(kubernetes.NewForConfig(config))(t),
		objects: plane.Must(dynamic.NewForConfig(config))(t),
	}
}

func (w *fixture) install(t *testing.T, v values) *release.Release {
	t.Helper()
	i := action.NewInstall(w.helm)
	i.ReleaseName, i.Namespace, i.WaitStrategy, i.Timeout, i.ServerSideApply = "a", ns, w.wait, timeout, w.apply
	return plane.Must(i.Run(w.chart, v))(t).(*release.Release)
}

func (w *fixture) upgrade(v values, change ...func(*action.Upgrade)) (*release.Release, error) {
	u := action.NewUpgrade(w.helm)
	u.Namespace, u.WaitStrategy, u.Timeout, u.ServerSideApply = ns, w.wait, timeout, w.serverSide()
	for _, c := range change {
		c(u)
	}
	r, err := u.Run("a", w.chart, v)
	if err != nil {
		return nil, err
	}
	return r.(*release.Release), nil
}

// boat returns the spec of the release's custom resource.
func (w *fixture) boat(t *testing.T) (color any, tonnes any) {
	t.Helper()
	u := plane.Must(w.objects.Resource(boats).Namespace(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	spec := u.Object["spec"].(map[string]any)
	return spec["color"], spec["tonnes"]
}
