package controllerruntime

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestEnvtestInstallsAndUninstallsDefinitions installs a definition twice, where the second call updates it, and
// uninstalls it.
func TestEnvtestInstallsAndUninstallsDefinitions(t *testing.T) {
	t.Parallel()
	config, ctx, scheme := plane.Start(t), t.Context(), newScheme()
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	c := plane.Must(client.New(config, client.Options{Scheme: scheme}))(t)
	if err := c.Create(ctx, &Ship{ObjectMeta: named("a")}); !meta.IsNoMatchError(err) {
		t.Errorf("create before the definition: got error %v, want NoMatch", err)
	}
	options := envtest.CRDInstallOptions{Scheme: scheme, Paths: []string{"testdata"}, ErrorIfPathMissing: true}
	for range 2 {
		installed := plane.Must(envtest.InstallCRDs(config, options))(t)
		if len(installed) != 1 || installed[0].Name != "ships.example.com" {
			t.Errorf("got installed definitions %v, want ships.example.com", installed)
		}
	}
	ok(t, c.Create(ctx, &Ship{ObjectMeta: named("a")})) // the client's mapper queries discovery again
	ok(t, envtest.UninstallCRDs(config, options))
	if err := c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "a"}, &Ship{}); !apierrors.IsNotFound(err) &&
		!meta.IsNoMatchError(err) {
		t.Errorf("get after the uninstallation: got error %v, want NotFound or NoMatch", err)
	}
}
