package bowlinetest_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
)

func TestPlaneIsReadyAndEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var clients kubernetes.Interface
	t.Run("test", func(t *testing.T) {
		clients = kubernetes.NewForConfigOrDie(bowlinetest.Start(t).RESTConfig())
		_, err := clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	})
	if _, err := clients.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{}); err == nil {
		t.Error("the plane answered a request after the end of its test")
	}
}

func TestDaysPassInABubble(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		began := time.Now()
		namespaces := bowlinetest.Client[*corev1.Namespace](t, p)
		namespace, err := namespaces.Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if at := namespace.CreationTimestamp.Time; !at.Equal(began) {
			t.Errorf("created at %s, began at %s", at, began)
		}
		time.Sleep(48 * time.Hour)
		if err := namespaces.Delete(t.Context(), "", "short", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		bowlinetest.WaitForDeletion[*corev1.Namespace](t, p, "", "short")
	})
}

// TestHundredPlanesAtOnce checks that planes are independent: each creates the same object.
func TestHundredPlanesAtOnce(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			p := bowlinetest.Start(t, bowlinetest.CRDs("testdata/boats.yaml"))
			if _, err := bowlinetest.Client[*corev1.ConfigMap](t, p).Create(t.Context(), configMap("a"),
				metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestForksAreForSubtests(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.Types(addBoats, nil), bowlinetest.Objects(configMap("shared")))
	t.Run("forks", func(t *testing.T) {
		for i := range 10 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				changeEverything(t, p.Fork(t, bowlinetest.Objects(configMap("own"))))
			})
		}
	})
	maps := bowlinetest.Client[*corev1.ConfigMap](t, p)
	if _, err := maps.Get(t.Context(), "default", "shared"); err != nil {
		t.Error(err)
	}
	if _, err := maps.Get(t.Context(), "default", "own"); !apierrors.IsNotFound(err) {
		t.Errorf("the plane has an object of its fork: %v", err)
	}
}

func changeEverything(t *testing.T, fork *bowlinetest.Plane) {
	maps := bowlinetest.Client[*corev1.ConfigMap](t, fork)
	for _, name := range []string{"shared", "own"} {
		if err := maps.Delete(t.Context(), "default", name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	fork.Apply(t, boat)
	fork.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: short}}")
	if err := bowlinetest.Client[*corev1.Namespace](t, fork).Delete(t.Context(), "", "short",
		metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	bowlinetest.WaitForDeletion[*corev1.Namespace](t, fork, "", "short") // the namespace controller runs on the fork
}

func TestObjectsHaveTheirStatus(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.Types(addBoats, nil), bowlinetest.Objects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "sea"}},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "runs", Namespace: "sea"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		},
		&Boat{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: BoatSpec{Sails: 1}, Status: BoatStatus{Afloat: true}},
	))
	pod, err := bowlinetest.Client[*corev1.Pod](t, p).Get(t.Context(), "sea", "runs")
	if err != nil || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("got pod %v, %v", pod, err)
	}
	boat, err := bowlinetest.Client[*Boat](t, p).Get(t.Context(), "default", "b")
	if err != nil || !boat.Status.Afloat {
		t.Errorf("got boat %v, %v", boat, err)
	}
}

func TestInvalidObjectsAreReported(t *testing.T) {
	t.Parallel()
	for want, object := range map[string]*Boat{
		"the kind of a *bowlinetest_test.Boat is not known": {ObjectMeta: metav1.ObjectMeta{Name: "unknown"}},
		"the plane serves no example.org/v1": {TypeMeta: metav1.TypeMeta{APIVersion: "example.org/v1",
			Kind: "Boat"}},
	} {
		mustFail(t, func(t testing.TB) { bowlinetest.Start(t, bowlinetest.Objects(object)) }, want)
	}
	mustFail(t, func(t testing.TB) {
		bowlinetest.Start(t).Apply(t, "a: [")
	}, "decoding the objects to apply: document 1")
	mustFail(t, func(t testing.TB) {
		bowlinetest.Start(t).Apply(t, boat)
	}, "applying Boat a: the plane serves no example.com/v1")
	mustFail(t, func(t testing.TB) {
		bowlinetest.Start(t, bowlinetest.With(func(o *bowline.Options) { o.Controllers = []string{"nobody"} }))
	}, `unknown controller "nobody"`)
}

func TestSocketIsForOtherProcesses(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.Socket())
	clients := kubernetes.NewForConfigOrDie(p.SocketConfig(t))
	if _, err := clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a"),
		metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	jane := kubernetes.NewForConfigOrDie(p.SocketConfig(t, "jane", "devs"))
	if _, err := jane.CoreV1().ConfigMaps("default").Get(t.Context(), "a",
		metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("as jane: got %v", err)
	}
	mustFail(t, func(t testing.TB) { bowlinetest.Start(t).SocketConfig(t) }, "bowlinetest.Socket()")
}

func TestBubblesHaveNoSockets(t *testing.T) {
	t.Parallel()
	began := false
	failed, output := try(t, func(tb testing.TB) {
		bowlinetest.Start(tb, bowlinetest.Socket(), bowlinetest.NoSocket)
		began = true
	})
	if began || !failed ||
		output != "a Bubble cannot have a Socket: waiting for the network stops virtual time; use Start instead" {
		t.Errorf("failed: %v, output %q", failed, output)
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
}
