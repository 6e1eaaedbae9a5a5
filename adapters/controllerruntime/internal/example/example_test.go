package example

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/clientgo"
	"github.com/bowline-dev/bowline/adapters/controllerruntime"
	bowlineclient "github.com/bowline-dev/bowline/client"
)

func init() { log.SetLogger(logr.Discard()) } // or it complains after half a minute that nobody did

// start runs the operator until ctx ends.
type start func(ctx context.Context, t *testing.T, plane *bowline.Plane) error

// withFactory runs the one that is written with client-go.
func withFactory(factory func(*testing.T, *bowline.Plane, kubernetes.Interface) informers.SharedInformerFactory) start {
	return func(ctx context.Context, t *testing.T, plane *bowline.Plane) error {
		clients := must(kubernetes.NewForConfig(plane.RESTConfig()))(t)
		return must(NewOperator(clients, factory(t, plane, clients)))(t).Run(ctx)
	}
}

// withCache runs the one that is written with controller-runtime.
func withCache(newCache func(*bowline.Plane) cache.NewCacheFunc) start {
	return func(ctx context.Context, t *testing.T, plane *bowline.Plane) error {
		skip := true
		manager := must(ctrl.NewManager(plane.RESTConfig(), ctrl.Options{
			NewCache:   newCache(plane),
			Metrics:    server.Options{BindAddress: "0"},
			Controller: config.Controller{SkipNameValidation: &skip}, // several in one process
		}))(t)
		if err := (&Reconciler{manager.GetClient()}).SetupWithManager(manager); err != nil {
			return err
		}
		return manager.Start(ctx)
	}
}

// ways are the operator, both as it was written and with our informers.
var ways = map[string]start{
	"client-go": withFactory(func(_ *testing.T, _ *bowline.Plane,
		clients kubernetes.Interface) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactory(clients, time.Hour)
	}),
	"client-go, our informers over the wire": withFactory(func(t *testing.T, plane *bowline.Plane,
		_ kubernetes.Interface) informers.SharedInformerFactory {
		source := bowlineclient.NewSource(must(bowlineclient.New(plane.RESTConfig()))(t))
		return clientgo.NewSharedInformerFactory(source, time.Hour)
	}),
	"client-go, our informers in process": withFactory(func(_ *testing.T, plane *bowline.Plane,
		_ kubernetes.Interface) informers.SharedInformerFactory {
		return clientgo.NewSharedInformerFactory(plane.Source(), time.Hour)
	}),
	"controller-runtime": withCache(func(*bowline.Plane) cache.NewCacheFunc {
		return nil
	}),
	"controller-runtime, our informers over the wire": withCache(func(*bowline.Plane) cache.NewCacheFunc {
		return controllerruntime.NewCache
	}),
	"controller-runtime, our informers in process": withCache(func(p *bowline.Plane) cache.NewCacheFunc {
		return controllerruntime.On(p.Source())
	}),
}

func TestOperatorWorksWithBothCaches(t *testing.T) {
	t.Parallel()
	for name, start := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				plane := must(bowline.Start(t.Context(),
					bowline.Options{Controllers: []string{bowline.NoControllers}}))(t)
				defer plane.Close()
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- start(ctx, t, plane) }()
				exposes(t, plane)
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// exposes checks that a running operator creates, updates and deletes the Service.
func exposes(t *testing.T, plane *bowline.Plane) {
	c := must(client.New(plane.RESTConfig(), client.Options{}))(t)
	service := func() string {
		time.Sleep(time.Minute) // of virtual time: longer than any retry
		var found corev1.Service
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "shop"}, &found); err != nil {
			return err.Error()
		}
		return fmt.Sprint(found.Spec.Ports[0].Port, found.Spec.Selector)
	}
	want := func(when, want string) {
		t.Helper()
		if got := service(); got != want {
			t.Errorf("%s: the Service is %s, and not %s", when, got, want)
		}
	}
	const none = `services "shop" not found`
	deployment := deployment()
	ok(t, c.Create(t.Context(), deployment))
	want("without the annotation", none)
	deployment.Annotations = map[string]string{annotation: "80"}
	ok(t, c.Update(t.Context(), deployment))
	want("with it", "80 map[app:shop]")
	deployment.Annotations[annotation] = "8080"
	ok(t, c.Update(t.Context(), deployment))
	want("with another port", "8080 map[app:shop]")
	ok(t, c.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"}}))
	want("after it was deleted", "8080 map[app:shop]")
	delete(deployment.Annotations, annotation)
	ok(t, c.Update(t.Context(), deployment))
	want("without the annotation again", none)
}

func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "shop"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "shop", Image: "shop"}}},
			},
		},
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns a value, and fails the test if there was an error.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
