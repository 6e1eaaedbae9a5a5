package namespace_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/wire"
)

// An incomplete list does not show that there are no objects.
func TestIncompleteListsBlockDeletion(t *testing.T) {
	t.Parallel()
	for name, readable := range map[string]string{"with a readable object": "a", "alone": ""} {
		t.Run(name, func(t *testing.T) {
			for _, resource := range []string{"configmaps", "pods"} {
				testUnreadable(t, resource, readable)
			}
		})
	}
}

// testUnreadable makes an object of a resource unreadable for a while, next to a readable one if a name is given.
func testUnreadable(t *testing.T, resource, readable string) {
	var mu sync.Mutex
	damaged := true
	through := func(next http.RoundTripper) http.RoundTripper {
		return transport(func(q *http.Request) (*http.Response, error) {
			r, err := next.RoundTrip(q)
			mu.Lock()
			defer mu.Unlock()
			if damaged && err == nil && q.Method == http.MethodGet &&
				strings.HasSuffix(q.URL.Path, "/doomed/"+resource) {
				r.Header.Add("Warning", `299 - "`+wire.IncompleteList+`1 object"`)
			}
			return r, err
		})
	}
	runFixtureWith(t, fixtureOptions{through: through}, func(w *fixture) {
		if readable != "" {
			create(w, configmaps, &corev1.ConfigMap{ObjectMeta: meta(readable)})
			create(w, pods, boundPod(readable, ""))
		}
		w.doom()
		time.Sleep(time.Minute)
		w.expectConditions("NamespaceDeletionContentFailure: ContentDeletionFailed: " +
			"Failed to delete all resource types, 1 remaining: " + resource + ": " + client.ErrIncomplete.Error())
		mu.Lock()
		damaged = false
		mu.Unlock()
		time.Sleep(10 * time.Minute)
		if w.remains() {
			w.t.Error("the namespace still exists")
		}
	})
}
