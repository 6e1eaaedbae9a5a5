package helm4

import (
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestReleaseRevisions installs a release with its definition and hooks, tests it, upgrades it,
// rolls back an upgrade that the server rejects, and uninstalls it.
func TestReleaseRevisions(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]mode{
		"server-side apply":               {true, kube.StatusWatcherStrategy},
		"client-side apply, as in Helm 3": {false, kube.LegacyStrategy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, m)
			w.testInstall(t)
			w.testUpgrade(t)
			w.testRollback(t)
			w.testUninstall(t)
		})
	}
}

func (w *fixture) testInstall(t *testing.T) {
	r := w.install(t, values{"color": "blue"})
	if r.Info.Status != common.StatusDeployed || r.Info.Notes != "a is blue, and boats are known.\n" {
		t.Errorf("after install: got status %s, notes %q", r.Info.Status, r.Info.Notes)
	}
	if color, tonnes := w.boat(t); color != "blue" || tonnes != int64(10) {
		t.Errorf("after install: got color %v, tonnes %v; want blue, 10", color, tonnes)
	}
	for _, h := range r.Hooks {
		if ran := h.LastRun.Phase == release.HookPhaseSucceeded; ran != strings.Contains(h.Manifest, "pre-install") {
			t.Errorf("hook %s: got phase %q, want only pre-install hooks succeeded", h.Name, h.LastRun.Phase)
		}
	}
	tested, done, err := action.NewReleaseTesting(w.helm).Run("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range tested.(*release.Release).Hooks {
		if h.Name == "a-floats" && h.LastRun.Phase != release.HookPhaseSucceeded {
			t.Errorf("test hook: got phase %q, want succeeded", h.LastRun.Phase)
		}
	}
	if err := done(); err != nil {
		t.Error(err)
	}
}

func (w *fixture) testUpgrade(t *testing.T) {
	secret := func() string {
		s := plane.Must(w.clients.CoreV1().Secrets(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
		return string(s.Data["password"])
	}
	before := secret()
	r := plane.Must(w.upgrade(values{"color": "red", "replicas": 2}))(t)
	if r.Version != 2 || r.Info.Status != common.StatusDeployed {
		t.Errorf("after upgrade: got status %s, revision %d; want deployed, 2", r.Info.Status, r.Version)
	}
	if color, _ := w.boat(t); color != "red" {
		t.Errorf("after upgrade: got color %v, want red", color)
	}
	d := plane.Must(w.clients.AppsV1().Deployments(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	if *d.Spec.Replicas != 2 || d.Spec.Template.Spec.Containers[0].Image != "crew:red" {
		t.Errorf("after upgrade: got deployment %v, want 2 replicas of crew:red", d.Spec)
	}
	if after := secret(); before == "" || after != before {
		t.Errorf("after upgrade: got password %q, want %q, which lookup should find", after, before)
	}
	orders := plane.Must(w.clients.CoreV1().ConfigMaps(ns).Get(t.Context(), "a-orders", metav1.GetOptions{}))(t)
	if orders.Data["revision"] != "2" {
		t.Errorf("ConfigMap of the hook: got %v, want revision 2", orders.Data)
	}
}

func (w *fixture) testRollback(t *testing.T) {
	if _, err := w.upgrade(values{"color": "green", "tonnes": -1}); err == nil ||
		!strings.Contains(err.Error(), "spec.tonnes") {
		t.Errorf("upgrade to an invalid boat: got error %v, want one about spec.tonnes", err)
	}
	back := action.NewRollback(w.helm)
	back.Version, back.WaitStrategy, back.Timeout, back.ServerSideApply = 1, w.wait, timeout, w.serverSide()
	if err := back.Run("a"); err != nil {
		t.Fatal(err)
	}
	if color, tonnes := w.boat(t); color != "blue" || tonnes != int64(10) {
		t.Errorf("after rollback: got color %v, tonnes %v; want blue, 10", color, tonnes)
	}
	var statuses []string
	for _, r := range plane.Must(action.NewHistory(w.helm).Run("a"))(t) {
		statuses = append(statuses, r.(*release.Release).Info.Status.String())
	}
	if got := strings.Join(statuses, " "); got != "superseded superseded failed deployed" {
		t.Errorf("got history %q, want superseded superseded failed deployed", got)
	}
}

func (w *fixture) testUninstall(t *testing.T) {
	u := action.NewUninstall(w.helm)
	u.WaitStrategy, u.Timeout = w.wait, timeout
	plane.Must(u.Run("a"))(t)
	if l := plane.Must(w.objects.Resource(boats).Namespace(ns).List(t.Context(),
		metav1.ListOptions{}))(t); len(l.Items) != 0 {
		// the definition remains: Helm never deletes definitions
		t.Errorf("after uninstall: got boats %v, want none", l.Items)
	}
	if _, err := w.clients.CoreV1().ConfigMaps(ns).Get(t.Context(), "a-farewell", metav1.GetOptions{}); err != nil {
		t.Errorf("ConfigMap of the post-delete hook: %v", err)
	}
	if l := plane.Must(action.NewList(w.helm).Run())(t); len(l) != 0 {
		t.Errorf("after uninstall: got releases %v, want none", l)
	}
}

// TestFailedUpgradeIsRolledBack checks the option to roll back on failure.
func TestFailedUpgradeIsRolledBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t, mode{true, kube.StatusWatcherStrategy})
	w.install(t, values{})
	undo := func(u *action.Upgrade) { u.RollbackOnFailure, u.CleanupOnFail = true, true }
	if _, err := w.upgrade(values{"color": "red", "tonnes": -1}, undo); err == nil ||
		!strings.Contains(err.Error(), "spec.tonnes") {
		t.Errorf("upgrade to an invalid boat: got error %v, want one about spec.tonnes", err)
	}
	r := plane.Must(action.NewStatus(w.helm).Run("a"))(t).(*release.Release)
	if color, _ := w.boat(t); color != "blue" || r.Info.Status != common.StatusDeployed || r.Version != 3 {
		t.Errorf("got color %v, status %s, revision %d; want blue, deployed, 3", color, r.Info.Status, r.Version)
	}
}
