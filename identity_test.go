package bowline_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
)

// identities returns the UIDs of the namespaces kube-system and default.
func identities(t *testing.T, o bowline.Options) (system, first string) {
	t.Helper()
	plane, err := bowline.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	namespaces := kubernetes.NewForConfigOrDie(plane.RESTConfig()).CoreV1().Namespaces()
	uid := func(name string) string {
		ns, err := namespaces.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(ns.UID)
	}
	return uid(metav1.NamespaceSystem), uid(metav1.NamespaceDefault)
}

// TestInvalidPlaneIDIsRejected checks IDs that would leave a folder or change a terminal.
func TestInvalidPlaneIDIsRejected(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"../../etc", "..", "a/b", "a\x1b[2J"} {
		if plane, err := bowline.Start(t.Context(), bowline.Options{ID: id}); err == nil {
			plane.Close()
			t.Errorf("%q was accepted", id)
		}
	}
}

func TestPlaneIDSurvivesRestart(t *testing.T) {
	t.Parallel()
	const id = "6c6f7665-6c79-4b6e-9f74-73686f6c6421"
	_, before := identities(t, bowline.Options{ID: id})
	system, after := identities(t, bowline.Options{ID: id})
	if system != id || after == before {
		t.Errorf("kube-system is %s, want %s; the namespace default was %s and is %s", system, id, before, after)
	}
	one, _ := identities(t, bowline.Options{})
	other, _ := identities(t, bowline.Options{})
	if one == "" || one == other {
		t.Errorf("two planes without an ID are %q and %q", one, other)
	}
}
