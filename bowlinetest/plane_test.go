package bowlinetest_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline/bowlinetest"
)

func TestPlaneIsReadyAndEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var clients kubernetes.Interface
	t.Run("test", func(t *testing.T) {
		clients = kubernetes.NewForConfigOrDie(bowlinetest.Start(t).Config())
		_, err := clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	})
	if _, err := clients.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{}); err == nil {
		t.Error("the plane answers after the end of its test")
	}
}

func TestDaysPassInABubble(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		began := time.Now()
		namespaces := kubernetes.NewForConfigOrDie(p.Config()).CoreV1().Namespaces()
		namespace, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if at := namespace.CreationTimestamp.Time; !at.Equal(began) {
			t.Errorf("created at %s, began at %s", at, began)
		}
		time.Sleep(48 * time.Hour)
		if err := namespaces.Delete(t.Context(), "short", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := namespaces.Get(t.Context(), "short", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("a minute after its deletion: %v", err)
		}
	})
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
