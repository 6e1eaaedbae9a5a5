package manager_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func asJSON(what any) string {
	text, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		panic(err) // test values can be marshaled
	}
	return string(text)
}

func TestAnnotatedServiceGetsIngress(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		s := w.create(service("web", "ingress/http", "true"))
		w.create(service("plain"))
		waitIdle()
		w.routes(s, "example.com", "/", 80)
		w.hasNone("plain")
		if got := w.events(s.UID); !slices.Equal(got, []string{"Normal Created"}) {
			w.Errorf("got events %q", got)
		}
	})
}

// In the server's process the caches contain the server's own objects, which must not be modified.
func TestManagerRunsInTheServersProcess(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.runOver(w.plane.RESTConfig(), w.plane.Source())()
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		w.routes(s, "example.com", "/", 80)
		w.annotate("web", "ingress/host", "new.example.com")
		waitIdle()
		w.routes(s, "new.example.com", "/", 80)
	})
}

func TestHostPathAndPort(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		s := service("web", "ingress/http", "true",
			"ingress/host", "shop.example.org", "ingress/path", "/cart", "ingress/port", "admin")
		s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "admin", Port: 9000}}
		s = w.create(s)
		waitIdle()
		w.routes(s, "shop.example.org", "/cart", 9000)

		w.patchService("web", `{"spec":{"ports":[{"name":"http","port":80},{"name":"admin","port":9001}]}}`)
		waitIdle()
		w.routes(s, "shop.example.org", "/cart", 9001)
		w.annotate("web", "ingress/port", "80")
		w.annotate("web", "ingress/host", "null")
		waitIdle()
		w.routes(s, "example.com", "/cart", 80)
	})
}

func TestIngressIsRestored(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		made := w.routes(s, "example.com", "/", 80)
		if err := w.ingresses.Delete(w.Context(), "default", "web", metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
		waitIdle()
		if again := w.routes(s, "example.com", "/", 80); again.UID == made.UID {
			w.Error("the Ingress was not deleted")
		}
		w.patchIngress("web", `{"spec":{"ingressClassName":"other","rules":[{"host":"wrong.example.com"}]}}`)
		waitIdle()
		w.routes(s, "example.com", "/", 80)
		if got := w.events(s.UID); !slices.Equal(got, []string{"Normal Created", "Normal Updated"}) {
			w.Errorf("got events %q", got)
		}
	})
}

// Fields that users add to an Ingress survive the manager's writes.
func TestUserFieldsArePreserved(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		w.patchIngress("web",
			`{"metadata":{"annotations":{"a":"b"},"labels":{"team":"shop"},"finalizers":["example.com/hold"]},
			"spec":{"tls":[{"hosts":["example.com"],"secretName":"example"}],
			"defaultBackend":{"service":{"name":"other","port":{"number":1}}}}}`)
		w.annotate("web", "ingress/path", "/x")
		waitIdle()
		i := w.ingress("web")
		if path := i.Spec.Rules[0].HTTP.Paths[0].Path; path != "/x" {
			w.Errorf("the path is %s: the Ingress was not written to", path)
		}
		if len(i.Spec.TLS) != 1 || i.Spec.DefaultBackend == nil ||
			i.Annotations["a"] != "b" || i.Labels["team"] != "shop" || len(i.Finalizers) != 1 {
			w.Errorf("a field of the user is missing: %s", asJSON(i))
		}
		if !metav1.IsControlledBy(i, s) || len(i.OwnerReferences) != 1 {
			w.Errorf("the Ingress has the owners %+v", i.OwnerReferences)
		}
	})
}

func TestRemovedAnnotationDeletesIngress(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		s := w.create(service("web", "ingress/http", "true"))
		for _, value := range []string{"false", "null", "", "True"} {
			waitIdle()
			w.routes(s, "example.com", "/", 80)
			w.annotate("web", "ingress/http", value)
			waitIdle()
			w.hasNone("web")
			w.annotate("web", "ingress/http", "true")
		}
		if got := w.events(s.UID); !slices.Contains(got, "Normal Deleted") {
			w.Errorf("got events %q", got)
		}
	})
}

func TestDeletedServiceDeletesIngress(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		w.create(service("web", "ingress/http", "true"))
		waitIdle()
		w.ingress("web")
		w.deleteService("web")
		waitIdle()
		w.hasNone("web")
	})
}

// A service that waits for its finalizers gets no Ingress: otherwise a foreground deletion would wait for an
// Ingress that is always recreated.
func TestTerminatingServiceGetsNoIngress(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		s := service("web", "ingress/http", "true")
		s.Finalizers = []string{"example.com/hold"}
		w.create(s)
		waitIdle()
		w.ingress("web")
		w.deleteService("web")
		waitIdle()
		w.hasNone("web")
		w.patchService("web", `{"metadata":{"finalizers":null}}`)
		waitIdle()
		w.hasNone("web")
	})
}

// An Ingress that is being deleted is neither deleted again nor updated. A new one is created when it is
// gone.
func TestTerminatingIngressIsNotWritten(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		w.patchIngress("web", `{"metadata":{"finalizers":["example.com/hold"]}}`)
		w.annotate("web", "ingress/http", "false")
		waitIdle()
		going := w.ingress("web")
		w.patchIngress("web", `{"metadata":{"ownerReferences":null}}`)
		w.patchIngress("web", `{"metadata":{"ownerReferences":[`+asJSON(going.OwnerReferences[0])+`]}}`)
		waitIdle()
		if got := w.events(s.UID); !slices.Equal(got, []string{"Normal Created", "Normal Deleted"}) {
			w.Errorf("got events %q", got)
		}
		w.annotate("web", "ingress/http", "true")
		w.annotate("web", "ingress/host", "new.example.com")
		waitIdle()
		if i := w.ingress("web"); i.DeletionTimestamp == nil || i.Spec.Rules[0].Host != "example.com" {
			w.Errorf("the terminating Ingress was changed to %s", asJSON(i))
		}
		w.patchIngress("web", `{"metadata":{"finalizers":null}}`)
		waitIdle()
		if i := w.routes(s, "new.example.com", "/", 80); i.UID == going.UID {
			w.Error("the Ingress still exists after its finalizer was removed")
		}
	})
}

// A deletion with --cascade=orphan preserves the Ingress: the garbage collector removes its owner reference
// before it removes the service.
func TestOrphanDeletionPreservesIngress(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		w.create(service("web", "ingress/http", "true"))
		waitIdle()
		made := w.ingress("web")
		orphan := metav1.DeletePropagationOrphan
		if err := w.services.Delete(w.Context(), "default", "web",
			metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
			w.Fatal(err)
		}
		waitIdle()
		w.isUntouched(made)
		w.patchIngress("web", `{"metadata":{"ownerReferences":null}}`)
		w.patchService("web", `{"metadata":{"finalizers":null}}`)
		theirs := w.ingress("web")
		waitIdle()
		w.isUntouched(theirs)
	}, withoutCollector)
}

// The manager catches up with changes made while it did not run.
func TestReplacedServiceGetsNewIngress(t *testing.T) {
	withFixture(t, func(w *fixture) {
		stop := w.run()
		w.create(service("web", "ingress/http", "true"))
		w.create(service("gone", "ingress/http", "true"))
		w.create(service("declined", "ingress/http", "true"))
		waitIdle()
		stop()
		old := w.ingress("web")
		w.deleteService("web")
		w.deleteService("gone")
		w.annotate("declined", "ingress/http", "null")
		recreated := w.create(service("web", "ingress/http", "true", "ingress/host", "new.example.com"))
		defer w.run()()
		waitIdle()
		if i := w.routes(recreated, "new.example.com", "/", 80); i.UID == old.UID {
			w.Error("the old service's Ingress still exists")
		}
		w.hasNone("gone")
		w.hasNone("declined")
	})
}

// An Ingress that matches is not written: not at a restart, not over time, and not when its status changes.
func TestMatchingIngressIsNotWritten(t *testing.T) {
	withFixture(t, func(w *fixture) {
		stop := w.run()
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		stop()
		status := []byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`)
		_, err := w.ingresses.PatchStatus(w.Context(), "default", "web", types.MergePatchType, status,
			metav1.PatchOptions{})
		if err != nil {
			w.Fatal(err)
		}
		before := w.ingress("web")
		defer w.run()()
		time.Sleep(48 * time.Hour)
		if now := w.ingress("web"); now.ResourceVersion != before.ResourceVersion {
			w.Errorf("the Ingress was written to: %s", asJSON(now))
		}
		if got := w.events(s.UID); len(got) > 1 {
			w.Errorf("got events %q", got)
		}
	})
}

// Two managers without leader election reach the same result.
func TestTwoManagersMakeOneIngress(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		defer w.run()()
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		w.routes(s, "example.com", "/", 80)
		for range 20 {
			w.deleteService("web")
			s = w.create(service("web", "ingress/http", "true"))
		}
		waitIdle()
		i := w.routes(s, "example.com", "/", 80)
		time.Sleep(time.Hour)
		if now := w.ingress("web"); now.ResourceVersion != i.ResourceVersion {
			w.Errorf("the managers keep writing: %s", asJSON(now.ManagedFields))
		}
		w.annotate("web", "ingress/http", "null")
		waitIdle()
		w.hasNone("web")
	})
}
