package example

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/clientgo"
	"github.com/bowline-dev/bowline/adapters/controllerruntime"
	"github.com/bowline-dev/bowline/client"
)

// TestDocumentedLinesWork runs the lines that docs/adapters.md tells to change, and finds each of them there.
func TestDocumentedLinesWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plane := must(bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}}))(t)
		defer plane.Close()
		config := plane.RESTConfig()
		clients := must(kubernetes.NewForConfig(config))(t)
		run := func(factory informers.SharedInformerFactory) {
			ctx, stop := context.WithCancel(t.Context())
			factory.Core().V1().Namespaces().Informer()
			factory.StartWithContext(ctx)
			if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
				t.Error(err)
			}
			if _, err := factory.Core().V1().Namespaces().Lister().Get("default"); err != nil {
				t.Error(err)
			}
			stop()
			factory.Shutdown()
		}
		{
			factory := informers.NewSharedInformerFactory(clients, 10*time.Minute)
			run(factory)
		}
		{
			factory := clientgo.NewSharedInformerFactory(plane.Source(), 10*time.Minute)
			run(factory)
		}
		{
			own, err := client.New(config)
			ok(t, err)
			factory := clientgo.NewSharedInformerFactory(client.NewSource(own), 10*time.Minute)
			run(factory)
		}
		{
			manager, err := ctrl.NewManager(config, ctrl.Options{NewCache: controllerruntime.NewCache})
			ok(t, err)
			_ = manager
		}
		{
			manager, err := ctrl.NewManager(plane.RESTConfig(),
				ctrl.Options{NewCache: controllerruntime.On(plane.Source())})
			ok(t, err)
			_ = manager
		}
	})
	source := strings.Join(strings.Fields(string(must(os.ReadFile("document_test.go"))(t))), " ") // lines are wrapped
	for line := range strings.Lines(string(must(os.ReadFile("../../../../docs/adapters.md"))(t))) {
		line = strings.TrimSpace(line)
		begins := strings.HasPrefix(line, "factory := ") || strings.HasPrefix(line, "manager, ") ||
			strings.HasPrefix(line, "own, ")
		if begins && !strings.Contains(source, " "+line+" ") {
			t.Errorf("docs/adapters.md has a line that no test runs: %s", line)
		}
	}
}
