package difference_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/difference"
	"github.com/bowline-dev/bowline/internal/store/backup"
	"github.com/bowline-dev/bowline/internal/trial"
)

// TestExpiredEventsAreIgnored checks that an event that expired in the source is not a
// difference to a fork that still has it. An event that was deleted before its expiry is a difference until
// it would have expired.
func TestExpiredEventsAreIgnored(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		inPlane := bowlinetest.Client[*corev1.Event](t, p)
		for _, name := range []string{"once", "again", "deleted"} {
			p.Apply(t,
				fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {name: %s, namespace: default}, reason: Test,
				involvedObject: {kind: ConfigMap, namespace: default, name: it}}`, name))
		}
		fork := p.Fork(t)
		time.Sleep(30 * time.Minute)
		for _, plane := range []*bowlinetest.Plane{p, fork} {
			events := bowlinetest.Client[*corev1.Event](t, plane)
			_, err := events.Patch(t.Context(), "default", "again", "", types.MergePatchType, []byte(`{"count":2}`),
				metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := inPlane.Delete(t.Context(), "default", "deleted", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		expect(t, p, fork, "added deleted")
		time.Sleep(31 * time.Minute)
		expect(t, p, fork)
		if err := inPlane.Delete(t.Context(), "default", "again", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		expect(t, p, fork, "added again")
		expect(t, fork, p, "removed again")
	}, trial.Alone())
}

// expect compares two planes and checks the names of the objects that differ.
func expect(t *testing.T, before, after *bowlinetest.Plane, want ...string) {
	t.Helper()
	var found []string
	for change, err := range difference.Between(stateOf(t, before), stateOf(t, after)) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, change.What+" "+change.Key.Name())
	}
	if !slices.Equal(found, want) {
		t.Errorf("after %s: got differences %q, want %q", time.Since(start), found, want)
	}
}

// start is the initial time of a synctest bubble.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// stateOf reads the current state of a plane.
func stateOf(t *testing.T, p *bowlinetest.Plane) *backup.Reader {
	t.Helper()
	config := p.RESTConfig()
	by, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+"/bowline/backup", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := by.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	r, err := backup.Open(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
