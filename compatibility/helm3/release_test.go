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
// rolls back an upgrade that the server refuses, and uninstalls it.
func TestReleaseRevisions(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"secret", "configmap"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.helm(t, ns, driver)
			w.isInstalled(t, c)
			w.isUpgraded(t, c)
			w.failsAndRollsBack(t, c)
			w.isUninstalled(t, c)
		})
	}
}

func (w *world) isInstalled(t *testing.T, c *action.Configuration) {
	r := w.install(t, c, "a", values{"color": "blue"})
	if r.Info.Status != release.StatusDeployed || r.Info.Notes != "a is blue, and boats are known.\n" {
		t.Errorf("installed, it is %s and says %q", r.Info.Status, r.Info.Notes)
	}
	if color, tonnes := w.boat(t, "a"); color != "blue" || tonnes != int64(10) {
		t.Errorf("the boat is %v of %v tonnes", color, tonnes)
	}
	w.hookRan(t, "1")
	for _, h := range r.Hooks {
		if ran := h.LastRun.Phase == release.HookPhaseSucceeded; ran != strings.Contains(h.Manifest, "pre-install") {
			t.Errorf("hook %s is %q", h.Name, h.LastRun.Phase)
		}
	}
	tested := plane.Must(action.NewReleaseTesting(c).Run("a"))(t)
	for _, h := range tested.Hooks {
		if h.Name == "a-floats" && h.LastRun.Phase != release.HookPhaseSucceeded {
			t.Errorf("the test is %q", h.LastRun.Phase)
		}
	}
}

// hookRan checks what the hooks of a revision left: a ConfigMap, and no pod.
func (w *world) hookRan(t *testing.T, revision string) {
	t.Helper()
	orders := plane.Must(w.clients.CoreV1().ConfigMaps(ns).Get(t.Context(), "a-orders", metav1.GetOptions{}))(t)
	if orders.Data["revision"] != revision {
		t.Errorf("the hook's configmap says %v, want revision %s", orders.Data, revision)
	}
	if _, err := w.clients.CoreV1().Pods(ns).Get(t.Context(), "a-inspect",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the hook's pod is still there: %v", err)
	}
}

func (w *world) password(t *testing.T) string {
	t.Helper()
	s := plane.Must(w.clients.CoreV1().Secrets(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	return string(s.Data["password"])
}

func (w *world) isUpgraded(t *testing.T, c *action.Configuration) {
	before := w.password(t)
	r := plane.Must(w.upgrade(c, "a", values{"color": "red", "replicas": 2}))(t)
	if r.Version != 2 || r.Info.Status != release.StatusDeployed {
		t.Errorf("upgraded, it is %s at %d", r.Info.Status, r.Version)
	}
	if color, _ := w.boat(t, "a"); color != "red" {
		t.Errorf("the boat is %v", color)
	}
	d := plane.Must(w.clients.AppsV1().Deployments(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	if *d.Spec.Replicas != 2 || d.Spec.Template.Spec.Containers[0].Image != "crew:red" {
		t.Errorf("the deployment is %v", d.Spec)
	}
	if after := w.password(t); before == "" || after != before {
		t.Errorf("the password was %q and is %q: lookup did not find it", before, after)
	}
	w.hookRan(t, "2")
}

func (w *world) failsAndRollsBack(t *testing.T, c *action.Configuration) {
	_, err := w.upgrade(c, "a", values{"color": "green", "tonnes": -1})
	if err == nil || !strings.Contains(err.Error(), "spec.tonnes") {
		t.Errorf("an upgrade to an invalid boat answers %v", err)
	}
	if s := plane.Must(action.NewStatus(c).Run("a"))(t); s.Info.Status != release.StatusFailed || s.Version != 3 {
		t.Errorf("after a failed upgrade it is %s at %d", s.Info.Status, s.Version)
	}
	back := action.NewRollback(c)
	back.Version, back.Wait, back.Timeout = 1, true, patient
	if err := back.Run("a"); err != nil {
		t.Fatal(err)
	}
	if color, tonnes := w.boat(t, "a"); color != "blue" || tonnes != int64(10) {
		t.Errorf("rolled back, the boat is %v of %v tonnes", color, tonnes)
	}
	var statuses []string
	for _, r := range plane.Must(action.NewHistory(c).Run("a"))(t) {
		statuses = append(statuses, r.Info.Status.String())
	}
	if got := strings.Join(statuses, " "); got != "superseded superseded failed deployed" {
		t.Errorf("the history is %s", got)
	}
}

func (w *world) isUninstalled(t *testing.T, c *action.Configuration) {
	u := action.NewUninstall(c)
	u.Wait, u.Timeout = true, patient
	plane.Must(u.Run("a"))(t)
	if l := plane.Must(w.objects.Resource(boats).Namespace(ns).List(t.Context(),
		metav1.ListOptions{}))(t); len(l.Items) != 0 {
		t.Errorf("boats are left: %v", l.Items) // the definition remains: Helm never deletes definitions
	}
	if _, err := w.clients.CoreV1().ConfigMaps(ns).Get(t.Context(), "a-farewell", metav1.GetOptions{}); err != nil {
		t.Errorf("the post-delete hook left nothing: %v", err)
	}
	if l := plane.Must(action.NewList(c).Run())(t); len(l) != 0 {
		t.Errorf("helm still lists %v", l)
	}
}

// TestFailedAtomicUpgradeIsRolledBack checks that the upgrade is rolled back if the server refuses a part of it.
func TestFailedAtomicUpgradeIsRolledBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.helm(t, ns, "secret")
	w.install(t, c, "a", values{})
	u := action.NewUpgrade(c)
	u.Namespace, u.Atomic, u.Timeout, u.CleanupOnFail = ns, true, patient, true
	if _, err := u.Run("a", w.chart, values{"tonnes": 0}); err == nil {
		t.Error("an invalid boat was accepted")
	}
	if s := plane.Must(action.NewStatus(c).Run("a"))(t); s.Info.Status != release.StatusDeployed || s.Version != 3 {
		t.Errorf("after the atomic upgrade it is %s at %d", s.Info.Status, s.Version)
	}
}

// TestServerDryRunChangesNothing checks that lookups are answered and that an invalid object is
// rejected.
func TestServerDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.helm(t, ns, "secret")
	w.install(t, c, "a", values{})
	u := action.NewUpgrade(c)
	u.Namespace, u.DryRun, u.DryRunOption = ns, true, "server"
	r := plane.Must(u.Run("a", w.chart, values{"color": "red"}))(t)
	kept := plane.Must(w.clients.CoreV1().Secrets(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	if !strings.Contains(r.Manifest, "color: red") || !strings.Contains(r.Manifest, "data: {password: ") ||
		len(kept.Data["password"]) == 0 {
		t.Errorf("the dry run renders %s", r.Manifest)
	}
	if color, _ := w.boat(t, "a"); color != "blue" {
		t.Errorf("the dry run made the boat %v", color)
	}
}

// TestConcurrentInstallsAreIndependent installs concurrently, each release in a namespace that Helm
// creates, all with the same definition.
func TestConcurrentInstallsAreIndependent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(t, w.helm(t, ns, "secret"), "first", values{}) // creates the definition for the others
	names := []string{"n1", "n2", "n3", "n4"}
	failed := make(chan error)
	for _, n := range names {
		i := action.NewInstall(w.helm(t, n, "secret"))
		i.ReleaseName, i.Namespace, i.CreateNamespace, i.Wait, i.Timeout = "a", n, true, true, patient
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
		t.Errorf("boats: %v", l.Items)
	}
}
