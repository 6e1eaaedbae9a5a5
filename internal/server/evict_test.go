package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

const budgetsPath = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

// createRunningPod creates a running pod with the status of its condition Ready.
func createRunningPod(t testing.TB, w *testPlane, name, ready string) {
	t.Helper()
	w.create(t, podsPath,
		`{"metadata":{"name":"`+name+
			`","labels":{"app":"web"}},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`)
	status := `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"` + ready + `"}]}}`
	w.send(t, http.MethodPatch, podsPath+"/"+name+"/status", status, "Content-Type",
		"application/merge-patch+json").want(t, http.StatusOK)
}

// createBudget creates a disruption budget for the pods of app web, with that status.
func createBudget(t testing.TB, w *testPlane, name, spec, status string) {
	t.Helper()
	w.create(t, budgetsPath, `{"metadata":{"name":"`+name+`"},"spec":{"selector":{"matchLabels":{"app":"web"}}`+spec+
		`}}`)
	w.send(t, http.MethodPatch, budgetsPath+"/"+name+"/status", `{"status":`+status+`}`, "Content-Type",
		"application/merge-patch+json").want(t, http.StatusOK)
}

// evict requests an eviction.
func evict(t testing.TB, w *testPlane, name, query string) response {
	t.Helper()
	return w.send(t, http.MethodPost, podsPath+"/"+name+"/eviction"+query, evictionOf(name))
}

func evictionOf(name string) string {
	return `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"` + name + `"}}`
}

// Evictions respect budgets. The answers are those of Kubernetes' pkg/registry/core/pod/storage/eviction.go.
func TestEvictionRespectsBudget(t *testing.T) {
	t.Parallel()
	const cannot = "Cannot evict pod as it would violate the pod's disruption budget."
	for _, c := range []struct {
		name, ready, spec, status string
		code                      int
		say                       []string // in the answer
	}{
		{"there is room", "True", ``, `{"observedGeneration":1,"disruptionsAllowed":1}`, 201, nil},
		{"there is none", "True", ``, `{"observedGeneration":1,"desiredHealthy":2,"currentHealthy":2,"expectedPods":2}`,
			429,
			[]string{cannot, `"reason":"DisruptionBudget"`,
				"The disruption budget web needs 2 healthy pods and has 2 currently"}},
		{"nobody has counted yet", "True", ``, `{"disruptionsAllowed":1}`, 429,
			[]string{cannot, "The disruption budget web is still being processed by the server.",
				`"retryAfterSeconds":10`}},
		{"nobody can count", "True", ``,
			`{"observedGeneration":1,"currentHealthy":3,"conditions":[{"type":"DisruptionAllowed","status":"False",
			"reason":"SyncFailed","message":"no scale","lastTransitionTime":"2000-01-01T00:00:00Z"}]}`, 429,
			[]string{"The disruption budget web does not allow evicting pods currently because it failed sync: no scale"}},
		{"not ready, and there are too few", "False", ``,
			`{"observedGeneration":1,"desiredHealthy":2,"currentHealthy":1}`, 429,
			[]string{"needs 2 healthy pods and has 1 currently"}},
		{"not ready, and there are enough", "False", ``,
			`{"observedGeneration":1,"desiredHealthy":2,"currentHealthy":2}`, 201, nil},
		{"not ready, and never counted", "False", `,"unhealthyPodEvictionPolicy":"AlwaysAllow"`,
			`{"observedGeneration":1,"desiredHealthy":2,"currentHealthy":1}`, 201, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			createRunningPod(t, w, "p", c.ready)
			createBudget(t, w, "web", c.spec, c.status)
			got := evict(t, w, "p", "").want(t, c.code)
			for _, text := range c.say {
				if !strings.Contains(string(got.body), text) {
					t.Errorf("%s does not contain %s", got.body, text)
				}
			}
			if deleted := valueAt(w.get(t, podsPath+"/p").object(t), "metadata",
				"deletionTimestamp") != nil; deleted != (c.code == 201) {
				t.Errorf("deleted: %t", deleted)
			}
		})
	}
}

// An eviction is recorded in the same commit: in the pod's condition, and in the budget's disrupted pods.
func TestEvictionUpdatesBudgetAndPod(t *testing.T) {
	t.Parallel()
	w := start(t)
	createRunningPod(t, w, "p", "True")
	createBudget(t, w, "web", "", `{"observedGeneration":1,"disruptionsAllowed":1}`)
	evict(t, w, "p", "?dryRun=All").want(t, http.StatusCreated)
	if got := valueAt(w.get(t, budgetsPath+"/web").object(t), "status", "disruptionsAllowed"); got != 1.0 {
		t.Errorf("a dry run left %v", got)
	}
	evict(t, w, "p", "").want(t, http.StatusCreated)
	budget := w.get(t, budgetsPath+"/web").object(t)
	if valueAt(budget, "status", "disruptionsAllowed") != 0.0 ||
		valueAt(budget, "status", "disruptedPods", "p") == nil {
		t.Errorf("the budget has %v", budget["status"])
	}
	pod := string(w.get(t, podsPath+"/p").body)
	if !strings.Contains(pod, `"type":"DisruptionTarget"`) ||
		!strings.Contains(pod, `"reason":"EvictionByEvictionAPI"`) {
		t.Errorf("the pod lacks the condition DisruptionTarget: %s", pod)
	}
	evict(t, w, "p", "").want(t, http.StatusCreated) // it goes already, and costs nothing
}

// Of many concurrent evictions, as many succeed as the budget allows.
func TestConcurrentEvictionsRespectBudget(t *testing.T) {
	t.Parallel()
	w := start(t)
	const pods, allowed = 20, 7
	for i := range pods {
		createRunningPod(t, w, fmt.Sprint("p", i), "True")
	}
	createBudget(t, w, "web", "", fmt.Sprintf(`{"observedGeneration":1,"disruptionsAllowed":%d}`, allowed))
	var evicted atomic.Int32
	concurrently(t, pods, func(ctx context.Context, i int) error {
		name := fmt.Sprint("p", i)
		r, err := w.try(ctx, http.MethodPost, podsPath+"/"+name+"/eviction", strings.NewReader(evictionOf(name)))
		switch {
		case err != nil:
			return err
		case r.code == http.StatusCreated:
			evicted.Add(1)
		case r.code != http.StatusTooManyRequests:
			return fmt.Errorf("%s: %d %s", name, r.code, r.body)
		}
		return nil
	})
	if n := evicted.Load(); n != allowed {
		t.Errorf("%d pods were evicted, want %d", n, allowed)
	}
	noted, _ := valueAt(w.get(t, budgetsPath+"/web").object(t), "status", "disruptedPods").(map[string]any)
	if len(noted) != allowed {
		t.Errorf("the budget lists %d disrupted pods", len(noted))
	}
}

// Evictions of clients older than Kubernetes 1.22 are accepted.
func TestEvictionV1beta1(t *testing.T) {
	t.Parallel()
	w := start(t)
	createRunningPod(t, w, "p", "True")
	w.send(t, http.MethodPost, podsPath+"/p/eviction",
		strings.Replace(evictionOf("p"), "policy/v1", "policy/v1beta1", 1)).want(t, http.StatusCreated)
}
