package helm3

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestReleaseRevisions installs a release with its definition and hooks, tests it, upgrades it,
// rolls back an upgrade that the server rejects, and uninstalls it.
func TestReleaseRevisions(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"secret", "configmap"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			c := w.helm(t, ns, driver)
			w.testInstall(t, c)
			w.testUpgrade(t, c)
			w.testRollback(t, c)
			w.testUninstall(t, c)
		})
	}
}

func (w *fixture) testInstall(t *testing.T, c *action.Configuration) {
	r := w.install(t, c, "a", values{"color": "blue"})
	if r.Info.Status != release.StatusDeployed || r.Info.Notes != "a is blue, and boats are known.\n" {
		t.Errorf("after install: got status %s, notes %q", r.Info.Status, r.Info.Notes)
	}
	if color, tonnes := w.boat(t, "a"); color != "blue" || tonnes != int64(10) {
		t.Errorf("after install: got color %v, tonnes %v; want blue, 10", color, tonnes)
	}
	w.checkHook(t, "1")
	for _, h := range r.Hooks {
		if ran := h.LastRun.Phase == release.HookPhaseSucceeded; ran != strings.Contains(h.Manifest, "pre-install") {
			t.Errorf("hook %s: got phase %q, want only pre-install hooks succeeded", h.Name, h.LastRun.Phase)
		}
	}
	tested := plane.Must(action.NewReleaseTesting(c).Run("a"))(t)
	for _, h := range tested.Hooks {
		if h.Name == "a-floats" && h.LastRun.Phase != release.HookPhaseSucceeded {
			t.Errorf("test hook: got phase %q, want succeeded", h.LastRun.Phase)
		}
	}
}

// checkHook checks that the hooks of a revision left a ConfigMap, and no pod.
func (w *fixture) checkHook(t *testing.T, revision string) {
	t.Helper()
	orders := plane.Must(w.clients.CoreV1().ConfigMaps(ns).Get(t.Context(), "a-orders", metav1.GetOptions{}))(t)
	if orders.Data["revision"] != revision {
		t.Errorf("ConfigMap of the hook: got %v, want revision %s", orders.Data, revision)
	}
	if _, err := w.clients.CoreV1().Pods(ns).Get(t.Context(), "a-inspect",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("pod of the hook: got error %v, want NotFound", err)
	}
}

func (w *fixture) password(t *testing.T) string {
	t.Helper()
	s := plane.Must(w.clients.CoreV1().Secrets(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	return string(s.Data["password"])
}

func (w *fixture) testUpgrade(t *testing.T, c *action.Configuration) {
	before := w.password(t)
	r := plane.Must(w.upgrade(c, "a", values{"color": "red", "replicas": 2}))(t)
	if r.Version != 2 || r.Info.Status != release.StatusDeployed {
		t.Errorf("after upgrade: got status %s, revision %d; want deployed, 2", r.Info.Status, r.Version)
	}
	if color, _ := w.boat(t, "a"); color != "red" {
		t.Errorf("after upgrade: got color %v, want red", color)
	}
	d := plane.Must(w.clients.AppsV1().Deployments(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	if *d.Spec.Replicas != 2 || d.Spec.Template.Spec.Containers[0].Image != "crew:red" {
		t.Errorf("after upgrade: got deployment %v, want 2 replicas of crew:red", d.Spec)
	}
	if after := w.password(t); before == "" || after != before {
		t.Errorf("after upgrade: got password %q, want %q, which lookup should find", after, before)
	}
	w.checkHook(t, "2")
}

func (w *fixture) testRollback(t *testing.T, c *action.Configuration) {
	_, err := w.upgrade(c, "a", values{"color": "green", "tonnes": -1})
	if err == nil || !strings.Contains(err.Error(), "spec.tonnes") {
		t.Errorf("upgrade to an invalid boat: got error %v, want one about spec.tonnes", err)
	}
	if s := plane.Must(action.NewStatus(c).Run("a"))(t); s.Info.Status != release.StatusFailed || s.Version != 3 {
		t.Errorf("after the failed upgrade: got status %s, revision %d; want failed, 3", s.Info.Status, s.Version)
	}
	back := action.NewRollback(c)
	back.Version, back.Wait, back.Timeout = 1, true, timeout
	if err := back.Run("a"); err != nil {
		t.Fatal(err)
	}
	if color, tonnes := w.boat(t, "a"); color != "blue" || tonnes != int64(10) {
		t.Errorf("after rollback: got color %v, tonnes %v; want blue, 10", color, tonnes)
	}
	var statuses []string
	for _, r := range plane.Must(action.NewHistory(c).Run("a"))(t) {
		statuses = append(statuses, r.Info.Status.String())
	}
	if got := strings.Join(statuses, " "); got != "superseded superseded failed deployed" {
		t.Errorf("got history %q, want superseded superseded failed deployed", got)
	}
}

func (w *fixture) testUninstall(t *testing.T, c *action.Configuration) {
	u := action.NewUninstall(c)
	u.Wait, u.Timeout = true, timeout
	plane.Must(u.Run("a"))(t)
	if l := plane.Must(w.objects.Resource(boats).Namespace(ns).List(t.Context(),
		metav1.ListOptions{}))(t); len(l.Items) != 0 {
		// the definition remains: Helm never deletes definitions
		t.Errorf("after uninstall: got boats %v, want none", l.Items)
	}
	if _, err := w.clients.CoreV1().ConfigMaps(ns).Get(t.Context(), "a-farewell", metav1.GetOptions{}); err != nil {
		t.Errorf("ConfigMap of the post-delete hook: %v", err)
	}
	if l := plane.Must(action.NewList(c).Run())(t); len(l) != 0 {
		t.Errorf("after uninstall: got releases %v, want none", l)
	}
}

// TestFailedAtomicUpgradeIsRolledBack checks that the upgrade is rolled back if the server rejects a part of it.
func TestFailedAtomicUpgradeIsRolledBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	c := w.helm(t, ns, "secret")
	w.install(t, c, "a", values{})
	u := action.NewUpgrade(c)
	u.Namespace, u.Atomic, u.Timeout, u.CleanupOnFail = ns, true, timeout, true
	if _, err := u.Run("a", w.chart, values{"tonnes": 0}); err == nil {
		t.Error("upgrade to an invalid boat: got no error")
	}
	if s := plane.Must(action.NewStatus(c).Run("a"))(t); s.Info.Status != release.StatusDeployed || s.Version != 3 {
		t.Errorf("after the atomic upgrade: got status %s, revision %d; want deployed, 3", s.Info.Status, s.Version)
	}
}

// TestServerDryRunChangesNothing checks that lookups are answered and that an invalid object is
// rejected.
func TestServerDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	c := w.helm(t, ns, "secret")
	w.install(t, c, "a", values{})
	u := action.NewUpgrade(c)
	u.Namespace, u.DryRun, u.DryRunOption = ns, true, "server"
	r := plane.Must(u.Run("a", w.chart, values{"color": "red"}))(t)
	secret := plane.Must(w.clients.CoreV1().Secrets(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	if !strings.Contains(r.Manifest, "color: red") || !strings.Contains(r.Manifest, "data: {password: ") ||
		len(secret.Data["password"]) == 0 {
		t.Errorf("got manifest %s, want the new color and the password", r.Manifest)
	}
	if color, _ := w.boat(t, "a"); color != "blue" {
		t.Errorf("after the dry run: got color %v, want blue", color)
	}
}

// TestConcurrentInstallsAreIndependent installs concurrently, each release in a namespace that Helm
// creates, all with the same definition.
func TestConcurrentInstallsAreIndependent(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.install(t, w.helm(t, ns, "secret"), "first", values{}) // creates the definition for the others
	names := []string{"n1", "n2", "n3", "n4"}
	failed := make(chan error)
	for _, n := range names {
		i := action.NewInstall(w.helm(t, n, "secret"))
		i.ReleaseName, i.Namespace, i.CreateNamespace, i.Wait, i.Timeout = "a", n, true, true, timeout
		go func() {
			_, err := i.Run(w.chart, values{"color": n})
			failed <- err
		}()
	}
	for range names {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	l := plane.Must(w.objects.Resource(boats).List(t.Context(), metav1.ListOptions{}))(t)
	if len(l.Items) != 1+len(names) {
		t.Errorf("got boats %v, want %d", l.Items, 1+len(names))
	}
}
