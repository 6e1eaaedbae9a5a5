package bowlinetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

func TestOpenWatchesAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var open watch.Interface
		leak := func(t testing.TB, options ...bowlinetest.Option) {
			p := bowlinetest.Start(t, options...)
			maps := kubernetes.NewForConfigOrDie(p.RESTConfig()).CoreV1().ConfigMaps("default")
			var err error
			if open, err = maps.Watch(context.Background(), metav1.ListOptions{}); err != nil {
				t.Fatal(err)
			}
			stopped, err := maps.Watch(context.Background(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			stopped.Stop()
		}
		mustFail(t, func(t testing.TB) {
			leak(t)
		}, "a watch is still open: /api/v1/namespaces/default/configmaps by", "leaks_test.go:")
		open.Stop()
		failed, output := try(t, func(t testing.TB) { leak(t, bowlinetest.AllowLeaks()) })
		if failed || strings.Count(output, "a watch is still open") != 1 {
			t.Errorf("with leaks permitted: failed is %v, output %s", failed, output)
		}
		open.Stop()
	})
}

func TestOpenWatchesOfUsersAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, of := range []func(*bowlinetest.Plane) *rest.Config{
			func(p *bowlinetest.Plane) *rest.Config { return p.As("root", "system:masters") },
			func(p *bowlinetest.Plane) *rest.Config {
				p.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: watcher}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: watcher}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: watcher}
subjects: [{kind: ServiceAccount, namespace: default, name: watcher}]
`)
				return p.AsServiceAccount("default", "watcher")
			},
		} {
			var open watch.Interface
			mustFail(t, func(t testing.TB) {
				maps := kubernetes.NewForConfigOrDie(of(bowlinetest.Start(t))).CoreV1().ConfigMaps("default")
				var err error
				if open, err = maps.Watch(context.Background(), metav1.ListOptions{}); err != nil {
					t.Fatal(err)
				}
			}, "a watch is still open: /api/v1/namespaces/default/configmaps by", "leaks_test.go:")
			if open != nil {
				open.Stop()
			}
		}
	})
}

func TestLeakedGoroutinesAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		mustFail(t, func(t testing.TB) {
			bowlinetest.Start(t)
			go waitFor(stuck)
			go func() { go waitFor(stuck) }()
		}, "a goroutine does not end:", "bowlinetest_test.waitFor")
		close(stuck)
	})
}

func waitFor(c <-chan struct{}) { <-c }

// TestCleanedUpGoroutinesAreNotLeaks checks that informers whose context is that of the test are no leaks: they
// end while cleanups run.
func TestCleanedUpGoroutinesAreNotLeaks(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t)
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(p.RESTConfig()), 0)
	informer := factory.Core().V1().ConfigMaps().Informer()
	factory.Start(t.Context().Done())
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Error("not synced")
	}
	go func() {
		<-t.Context().Done()
		time.Sleep(time.Millisecond)
	}()
}

func TestControllersRunWithTheTest(t *testing.T) {
	t.Parallel()
	var ended error
	t.Run("test", func(t *testing.T) {
		p := bowlinetest.Start(t, bowlinetest.Controllers(label, func(ctx context.Context, _ *rest.Config) error {
			<-ctx.Done()
			ended = context.Cause(ctx)
			return ctx.Err()
		}))
		p.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
		seen := bowlinetest.Wait(t, p, "default", "a", func(m *corev1.ConfigMap) bool {
			return m.Labels["seen"] == "yes"
		})
		if seen.Name != "a" {
			t.Errorf("got %+v", seen)
		}
		fork := p.Fork(t)
		fork.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}")
		bowlinetest.Wait(t, fork, "default", "b", func(m *corev1.ConfigMap) bool { return m.Labels["seen"] == "yes" })
	})
	if !errors.Is(ended, context.Canceled) {
		t.Errorf("a controller ended by %v", ended)
	}
}

// label is a controller that labels ConfigMaps.
func label(ctx context.Context, config *rest.Config) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	maps, err := clients.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer maps.Stop()
	for e := range maps.ResultChan() {
		m, ok := e.Object.(*corev1.ConfigMap)
		if !ok || m.Labels["seen"] == "yes" {
			continue
		}
		m.Labels = map[string]string{"seen": "yes"}
		if _, err := clients.CoreV1().ConfigMaps("default").Update(ctx, m, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func TestFailedAndStuckControllersFailTheTest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mustFail(t, func(t testing.TB) {
			bowlinetest.Start(t, bowlinetest.Controllers(label, func(context.Context, *rest.Config) error {
				return errors.New("torn sail")
			}))
			time.Sleep(time.Second)
		}, "controller 2 of 2 failed: torn sail")
		stuck := make(chan struct{})
		mustFail(t, func(t testing.TB) {
			bowlinetest.Start(t, bowlinetest.Controllers(func(context.Context, *rest.Config) error {
				<-stuck
				return nil
			}))
		}, "controller 1 of 1 has not returned 10s after its context ended", "a goroutine does not end:")
		close(stuck)
	})
}

func TestMutationsOfCachedObjectsAreReported(t *testing.T) {
	t.Parallel()
	mustFail(t, func(t testing.TB) {
		var maps *informer.Informer[*corev1.ConfigMap]
		shared := configMap("shared")
		shared.Data = map[string]string{"a": "b"}
		bowlinetest.Start(t, bowlinetest.Objects(shared), bowlinetest.Manage(func(m *controller.Manager) error {
			maps = informer.For[*corev1.ConfigMap](m.Informers(), corev1.SchemeGroupVersion.WithResource("configmaps"))
			return nil
		}))
		<-maps.Synced()
		for m := range maps.Indexer().All() {
			m.Data["a"] = "c"
		}
	}, "default/shared was changed")
	mustFail(t, func(t testing.TB) {
		bowlinetest.Start(t, bowlinetest.Manage(func(*controller.Manager) error { return errors.New("no anchor") }))
	}, "controller 1 of 1: no anchor")
}
