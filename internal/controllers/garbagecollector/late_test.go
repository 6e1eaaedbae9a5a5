package garbagecollector_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	foreground = metav1.DeletePropagationForeground
	orphan     = metav1.DeletePropagationOrphan
)

const hold = "example.com/hold"

// An owner waits for a dependent that its cache does not show yet.
func TestOwnersWaitForDependentsMissingFromTheCache(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		release := w.way.hold("/api/v1/secrets")
		w.secret("child", []string{hold}, w.configMap("owner", nil))
		w.remove("owner", foreground)
		time.Sleep(5 * time.Minute)
		w.expect(true, "configmap/owner")
		release()
		time.Sleep(5 * time.Minute)
		w.expect(true, "configmap/owner")
		w.let("secret/child")
		time.Sleep(5 * time.Minute)
		w.expect(false, "configmap/owner", "secret/child")
	})
}

// An owner waits for a dependent that was added while the owner waited for another one, although no cache
// shows it.
func TestOwnersWaitForDependentsAddedAfterTheirDeletion(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		owner := w.configMap("owner", nil)
		w.configMap("first", []string{hold}, owner)
		w.remove("owner", foreground)
		w.secret("another", nil) // makes the cache of secrets newer than the deletion
		time.Sleep(time.Minute)
		release := w.way.hold("/api/v1/secrets")
		w.secret("child", []string{hold}, owner)
		time.Sleep(time.Minute)
		w.let("configmap/first")
		time.Sleep(5 * time.Minute)
		w.expect(true, "configmap/owner", "secret/child")
		release()
		time.Sleep(time.Minute)
		w.let("secret/child")
		time.Sleep(5 * time.Minute)
		w.expect(false, "configmap/owner", "secret/child")
	})
}

// Dependents stay if their owner is deleted with orphan propagation, although a cache still shows it as
// deleted in the foreground.
func TestOrphansStayDespiteStaleOwnerCache(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		owner := w.configMap("owner", nil)
		w.configMap("held", []string{hold}, owner)
		w.remove("owner", foreground)
		time.Sleep(time.Minute)
		release := w.way.hold("/api/v1/configmaps")
		w.remove("owner", orphan)
		w.secret("child", nil, owner)
		time.Sleep(5 * time.Minute)
		w.expect(true, "secret/child")
		release()
		time.Sleep(5 * time.Minute)
		w.expect(true, "secret/child")
		w.expect(false, "configmap/owner")
		w.expectFree("secret/child")
	})
}

// While a kind cannot be listed, a foreground deletion waits for it for half a minute, and an orphaning
// deletion until it can be listed.
func TestUnlistableKindsDelayForegroundDeletionBriefly(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		const widgets = "/apis/example.com/v2/widgets"
		w.way.fail(widgets, true)
		w.way.fail("/apis/example.com/v2/namespaces/default/widgets", true)
		w.plane.Apply(w, definitionOf("v2"))
		time.Sleep(time.Minute)
		w.configMap("child", nil, w.configMap("waits", nil))
		left := w.configMap("leaves", nil)
		w.configMap("left", nil, left)
		w.plane.Apply(w, `{apiVersion: example.com/v2, kind: Widget, metadata: {name: left, namespace: default,
			ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: leaves, uid: `+string(left.UID)+`}]}}`)
		w.remove("waits", foreground)
		w.remove("leaves", orphan)
		time.Sleep(10 * time.Second)
		w.expect(false, "configmap/child")
		w.expect(true, "configmap/waits", "configmap/leaves")
		time.Sleep(5 * time.Minute)
		w.expect(false, "configmap/waits")
		w.expect(true, "configmap/leaves")
		w.way.fail(widgets, false)
		w.way.fail("/apis/example.com/v2/namespaces/default/widgets", false)
		time.Sleep(30 * time.Minute)
		w.expect(false, "configmap/leaves")
		w.expectFree("configmap/left")
		w.expectFree("widget/left")
	})
}

// A single failed list does not release an owner that has waited long for something else.
func TestSingleListFailureReleasesNoOwner(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		const secrets = "/api/v1/namespaces/default/secrets"
		owner := w.configMap("owner", nil)
		w.configMap("first", []string{hold}, owner)
		release := w.way.hold("/api/v1/secrets")
		w.secret("child", []string{hold}, owner)
		w.remove("owner", foreground)
		time.Sleep(2 * time.Minute)
		w.way.fail(secrets, true)
		w.let("configmap/first")
		time.Sleep(time.Second)
		w.way.fail(secrets, false)
		if w.way.count(secrets) == 0 {
			w.Errorf("got no list of %s, want at least one", secrets)
		}
		time.Sleep(2 * time.Minute)
		w.expect(true, "configmap/owner")
		release()
		time.Sleep(time.Minute)
		w.let("secret/child")
		time.Sleep(5 * time.Minute)
		w.expect(false, "configmap/owner", "secret/child")
	})
}

// Two objects that own each other and are both deleted in the foreground are deleted, and so is one that owns
// itself.
func TestCircularForegroundDeletionCompletes(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		release := w.way.hold("/api/v1/configmaps")
		a := w.configMap("a", nil)
		b := w.configMap("b", nil, a)
		self := w.configMap("self", nil)
		w.own(a, b)
		w.own(self, self)
		for _, name := range []string{"a", "b", "self"} {
			w.remove(name, foreground)
		}
		release()
		time.Sleep(5 * time.Minute)
		w.expect(false, "configmap/a", "configmap/b", "configmap/self")
	})
}

// own makes owner the blocking owner of obj.
func (w *fixture) own(obj, owner *corev1.ConfigMap) {
	w.Helper()
	obj.OwnerReferences = metaOwnedBy("", nil, []*corev1.ConfigMap{owner}).OwnerReferences
	if _, err := w.configs.Update(w.Context(), obj, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// The creation of an APIService triggers discovery: no definition announces the resources that it adds.
func TestAPIServicesTriggerDiscovery(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		time.Sleep(5 * time.Minute)
		before := w.way.count("/apis")
		// Nobody changes its status, because it has no service.
		w.plane.Apply(w, `{apiVersion: apiregistration.k8s.io/v1, kind: APIService,
			metadata: {name: v1.local.example.com}, spec: {
			group: local.example.com, version: v1, groupPriorityMinimum: 1000, versionPriority: 10}}`)
		time.Sleep(time.Minute)
		if requests := w.way.count("/apis") - before; requests == 0 || requests > 3 {
			w.Errorf("got %d discovery requests, want 1 to 3", requests)
		}
	})
}
