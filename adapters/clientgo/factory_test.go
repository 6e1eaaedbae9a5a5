package clientgo_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/clientgo"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// plane runs a test with a plane in a bubble.
func plane(t *testing.T, f func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := must(bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}}))(t)
		defer p.Close()
		f(t, p, must(kubernetes.NewForConfig(p.RESTConfig()))(t))
	})
}

func TestFactoryRunsClientGoOperator(t *testing.T) {
	t.Parallel()
	plane(t, func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface) {
		f := clientgo.NewSharedInformerFactory(p.Source(), time.Minute)
		configMaps, generic := f.Core().V1().ConfigMaps(), must(f.ForResource(configMaps))(t)
		if generic.Informer() == nil || configMaps.Lister() == nil {
			t.Fatal("a factory has no informer")
		}
		ctx, cancel := context.WithCancel(t.Context())
		f.StartWithContext(ctx)
		if !f.WaitForCacheSync(ctx.Done())[reflect.TypeFor[*corev1.ConfigMap]()] {
			t.Error("the informer of ConfigMaps has not synced")
		}
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		must(clients.CoreV1().ConfigMaps("default").Create(ctx, made, metav1.CreateOptions{}))(t)
		synctest.Wait()
		if _, err := configMaps.Lister().ConfigMaps("default").Get("a"); err != nil {
			t.Error(err)
		}
		if _, err := generic.Lister().ByNamespace("default").Get("a"); err != nil {
			t.Error(err)
		}
		if _, err := configMaps.Lister().ConfigMaps("default").Get("b"); !apierrors.IsNotFound(err) {
			t.Errorf("missing object: got error %v", err)
		}
		cancel()
		f.Shutdown()
	})
}

// TestInformerReplacesClientGosInFactory is what factories that were generated for custom resources do.
func TestInformerReplacesClientGosInFactory(t *testing.T) {
	t.Parallel()
	plane(t, func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface) {
		f := informers.NewSharedInformerFactory(clients, 0)
		ours := f.InformerFor(&corev1.ConfigMap{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
			return clientgo.New(p.Source(), configMaps, &corev1.ConfigMap{}, clientgo.Options{})
		})
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		must(clients.CoreV1().ConfigMaps("default").Create(t.Context(), made, metav1.CreateOptions{}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		f.StartWithContext(ctx)
		f.WaitForCacheSyncWithContext(ctx)
		if _, err := f.Core().V1().ConfigMaps().Lister().ConfigMaps("default").Get("a"); err != nil ||
			!ours.HasSynced() {
			t.Errorf("the lister of client-go's factory does not read ours: %v", err)
		}
		cancel()
		f.Shutdown()
	})
}

func TestFactoryRejectsInvalidSelectors(t *testing.T) {
	t.Parallel()
	_, err := clientgo.NewSharedInformerFactoryWithOptions(&recordingSource{}, clientgo.FactoryOptions{
		Tweak: func(o *metav1.ListOptions) { o.LabelSelector = "a in (" },
	})
	if err == nil {
		t.Error("a label selector that cannot be read is taken")
	}
}

// recorder is a test that fails without failing.
type recorder struct {
	testing.TB
	failed []string
	ends   []func()
}

func (r *recorder) Errorf(format string, arguments ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, arguments...))
}

func (r *recorder) Cleanup(f func()) { r.ends = append(r.ends, f) }

func (r *recorder) Helper() {}

func TestMutationReportsHandler(t *testing.T) {
	t.Parallel()
	plane(t, func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface) {
		recorder := &recorder{}
		f := must(clientgo.NewSharedInformerFactoryWithOptions(client.NewSource(must(client.New(p.RESTConfig()))(t)),
			clientgo.FactoryOptions{
				Mutations: informer.DetectMutations(recorder),
			}))(t)
		namespaces := f.Core().V1().Namespaces()
		namespaces.Informer()
		ctx, cancel := context.WithCancel(t.Context())
		f.StartWithContext(ctx)
		f.WaitForCacheSyncWithContext(ctx)
		must(namespaces.Lister().Get("default"))(t).Labels = map[string]string{"mine": "true"}
		cancel()
		f.Shutdown()
		for _, end := range recorder.ends {
			end()
		}
		if len(recorder.failed) != 1 || !strings.Contains(recorder.failed[0], "default") {
			t.Errorf("got failures %q", recorder.failed)
		}
	})
}
