package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

const reasonFull = metav1.StatusReason("InsufficientStorage")

// wantText ends the test unless the answer has the code and the text.
func (r response) wantText(t testing.TB, code int, text string) {
	t.Helper()
	if !strings.Contains(string(r.want(t, code).body), text) {
		t.Fatalf("answered %s, want %q", r.body, text)
	}
}

// fill creates ConfigMaps of a size, named with a prefix, until one is rejected, and returns how many were created.
func fill(t *testing.T, w *testPlane, namespace, prefix string, size int) (created int) {
	t.Helper()
	for {
		r := w.send(t, http.MethodPost, "/api/v1/namespaces/"+namespace+"/configmaps",
			fmt.Sprintf(`{"metadata":{"name":"%s-%d"},"data":{"k":%q}}`, prefix,
				created, strings.Repeat("v", size)))
		if r.code != http.StatusCreated {
			r.wantError(t, http.StatusInsufficientStorage, reasonFull, "nothing was written")
			return created
		}
		created++
	}
}

// A full store rejects what adds to it and says how to make room. Reads, deletes, statuses, heartbeats and
// changes that add nothing continue, and nothing that was acknowledged is lost.
func TestFullStoreRejectsOnlyGrowth(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *bowline.Options) { o.MaxBytes = 4 << 20 })
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	const budgetsPath = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
	w.create(t, leases, `{"metadata":{"name":"leader"},"spec":{"holderIdentity":"a"}}`)
	w.create(t, budgetsPath, `{"metadata":{"name":"b"}}`)
	w.create(t, configMaps, `{"metadata":{"name":"held","finalizers":["example.com/held"]}}`)
	if created := fill(t, w, "default", "large", 100_000); created < 35 {
		t.Errorf("%d objects of 100,000 bytes found room in 4 MiB", created)
	}
	fill(t, w, "default", "small", 100)

	patch := func(path, body string) response {
		return w.send(t, http.MethodPatch, path, body, "Content-Type", mergeType)
	}
	w.get(t, "/readyz/quota").wantText(t, http.StatusInternalServerError, "of at most 4194304 bytes")
	w.get(t, "/readyz?verbose").wantText(t, http.StatusOK, "[!]quota failed (informational): see /readyz/quota")
	w.get(t, "/metrics").wantText(t, http.StatusOK, "bowline_store_quota_bytes 4.194304e+06\n")
	w.get(t, configMaps+"?limit=1").want(t, http.StatusOK)
	r := patch(configMaps+"/held", `{"data":{"k":"`+strings.Repeat("v", 10_000)+`"}}`)
	r.wantError(t, http.StatusInsufficientStorage, reasonFull,
		"nothing was written; reads and deletes continue: delete objects, or restart the server with a larger --max-bytes")
	if after := r.header.Get("Retry-After"); after != "" {
		t.Errorf("Retry-After is %q: nothing changes by itself", after)
	}
	patch(configMaps+"/large-0", `{"data":{"k":"shorter"}}`).want(t, http.StatusOK)
	fill(t, w, "default", "medium", 1000)

	patch(budgetsPath+"/b/status", `{"status":{"conditions":[{"type":"A","status":"True","reason":"R",
		"lastTransitionTime":"2026-01-01T00:00:00Z","message":"`+strings.Repeat("m", 10_000)+`"}]}}`).
		want(t, http.StatusOK)
	patch(leases+"/leader", `{"spec":{"holderIdentity":"`+strings.Repeat("b", 5_000)+`"}}`).want(t, http.StatusOK)
	w.send(t, http.MethodPost, leases, `{"metadata":{"name":"another"},"spec":{"holderIdentity":"`+
		strings.Repeat("b", 5_000)+`"}}`).wantError(t, http.StatusInsufficientStorage, reasonFull, "the store is full")
	w.send(t, http.MethodDelete, configMaps+"/held", "").want(t, http.StatusOK) // adds the time of its deletion
	w.get(t, configMaps+"/held").wantText(t, http.StatusOK, "deletionTimestamp")
	patch(configMaps+"/held", `{"metadata":{"finalizers":null}}`).want(t, http.StatusOK)
	w.get(t, configMaps+"/held").want(t, http.StatusNotFound)
	w.send(t, http.MethodDelete, configMaps, "").want(t, http.StatusOK)
	if created := fill(t, w, "default", "again", 100_000); created < 35 {
		t.Errorf("after its deletion %d objects found room, want as many as before", created)
	}
}

// A full namespace affects no other.
func TestFullNamespaceRejectsOnlyItsOwnGrowth(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *bowline.Options) { o.MaxNamespaceBytes = 1 << 20 })
	fill(t, w, "default", "a", 50_000)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"b"},"data":{"k":"`+strings.Repeat("v", 50_000)+`"}}`).
		wantError(t, http.StatusInsufficientStorage, reasonFull, `namespace "default" is full`)
	w.createConfigMaps(t, "kube-system", "a")
	w.create(t, "/api/v1/namespaces", `{"metadata":{"name":"other"}}`)
	if created := fill(t, w, "other", "a", 50_000); created < 15 {
		t.Errorf("%d objects found room in another namespace", created)
	}
}

// A plane starts on a store that is fuller than its quota, with its own objects, and room can be made.
func TestStartWithSmallerQuota(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	w := start(t, storedIn(journal))
	w.createConfigMaps(t, "default", "a", "b")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = start(t, storedIn(journal), func(o *bowline.Options) { o.MaxBytes = 1 })
	w.get(t, configMaps+"/a").want(t, http.StatusOK)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"c"}}`).
		wantError(t, http.StatusInsufficientStorage, reasonFull, "the store is full")
	w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, http.StatusOK)
}
