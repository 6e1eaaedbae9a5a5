package pvcprotection_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/pvcprotection"
	"github.com/bowline-dev/bowline/internal/trial"
)

const nobodyInitializes = `
apiVersion: admissionregistration.k8s.io/v1alpha1
kind: InitializerConfiguration
metadata: {name: nobody}
initializers:
- {name: nobody.initializer.example.com, rules: [{apiGroups: [""], apiVersions: [v1], resources: [%s]}]}`

func uninitialized[T client.Object](t *testing.T, p *bowlinetest.Plane, resource string) client.Resource[T] {
	t.Helper()
	c, err := client.New(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client.Of[T](c, schema.GroupVersionResource{Version: "v1", Resource: resource}).Uninitialized()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An uninitialized pod protects its claim until it is deleted, and an uninitialized claim is released when it
// is deleted.
func TestUninitializedObjectsAreProtected(t *testing.T) {
	t.Parallel()
	for _, hidden := range []string{"pods", "persistentvolumeclaims", "pods, persistentvolumeclaims"} {
		t.Run(hidden, func(t *testing.T) {
			t.Parallel()
			bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
				p.Apply(t, fmt.Sprintf(nobodyInitializes, hidden))
				testClaimProtection(t, p)
			}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
				pvcprotection.Add(m)
				return nil
			}))
		})
	}
}

func testClaimProtection(t *testing.T, p *bowlinetest.Plane) {
	claims, pods := uninitialized[*corev1.PersistentVolumeClaim](t, p, "persistentvolumeclaims"),
		uninitialized[*corev1.Pod](t, p, "pods")
	_, err := claims.Create(t.Context(), claim("data"), metav1.CreateOptions{})
	check(t, err)
	_, err = pods.Create(t.Context(), podOn("n1", "data"), metav1.CreateOptions{})
	check(t, err)
	check(t, claims.Delete(t.Context(), "default", "data", metav1.DeleteOptions{}))
	time.Sleep(5 * time.Minute)
	if _, err := claims.Get(t.Context(), "default", "data"); err != nil {
		t.Errorf("claim in use: %v", err)
	}
	check(t, pods.Delete(t.Context(), "default", "user", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	time.Sleep(time.Minute)
	if _, err := claims.Get(t.Context(), "default", "data"); !apierrors.IsNotFound(err) {
		t.Errorf("claim after the pod was deleted: got error %v, want NotFound", err)
	}
}
