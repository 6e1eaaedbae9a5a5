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
		mergeType).want(t, http.StatusOK)
}

// createBudget creates a disruption budget for the pods of app web, with that status.
func createBudget(t testing.TB, w *testPlane, name, spec, status string) {
	t.Helper()
	w.create(t, budgetsPath, `{"metadata":{"name":"`+name+`"},"spec":{"selector":{"matchLabels":{"app":"web"}}`+spec+
		`}}`)
	w.send(t, http.MethodPatch, budgetsPath+"/"+name+"/status", `{"status":`+status+`}`, "Content-Type",
		mergeType).want(t, http.StatusOK)
}

// evict requests an eviction.
func evict(t testing.TB, w *testPlane, name, query string) response {
	t.Helper()
	return w.send(t, http.MethodPost, podsPath+"/"+name+"/eviction"+query, evictionOf(name))
}

func evictionOf(name string) string {
	return `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"` + name + `"}}`
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
