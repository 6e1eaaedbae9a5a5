package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// TestRemovedPodIsMarkedFirst checks that watchers see each pod with its deletion time before it is removed, even
// without a grace period: controllers that wait for the mark must not miss it.
func TestRemovedPodIsMarkedFirst(t *testing.T) {
	t.Parallel()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	const marked, removed = "MODIFIED grace 0 generation 2", "DELETED grace 0 generation 2"
	for name, c := range map[string]struct {
		running bool
		remove  func(t *testing.T, w *testPlane)
		want    []string
	}{
		"unscheduled": {false, func(t *testing.T, w *testPlane) { deletePod(t, w, metav1.DeleteOptions{}) },
			[]string{marked, removed}},
		"running, at once": {true, func(t *testing.T, w *testPlane) { deletePod(t, w, now) },
			[]string{marked, removed}},
		"running, as a kubelet does": {true, func(t *testing.T, w *testPlane) {
			deletePod(t, w, metav1.DeleteOptions{})
			deletePod(t, w, now)
		}, []string{"MODIFIED grace 30 generation 2", marked, removed}},
		"in a collection": {false, func(t *testing.T, w *testPlane) {
			if err := w.clients.CoreV1().Pods("default").DeleteCollection(t.Context(), metav1.DeleteOptions{},
				metav1.ListOptions{}); err != nil {
				t.Fatal(err)
			}
		}, []string{marked, removed}},
		"evicted": {false, func(t *testing.T, w *testPlane) {
			eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}}
			if err := w.clients.CoreV1().Pods("default").EvictV1(t.Context(), eviction); err != nil {
				t.Fatal(err)
			}
		}, []string{marked, removed}},
		"held by a finalizer": {false, func(t *testing.T, w *testPlane) {
			finalizers := func(list string) {
				w.send(t, http.MethodPatch, podsPath+"/p", `{"metadata":{"finalizers":`+list+`}}`, "Content-Type",
					mergeType).want(t, http.StatusOK)
			}
			finalizers(`["example.com/f"]`)
			deletePod(t, w, metav1.DeleteOptions{})
			finalizers(`null`)
		}, []string{"MODIFIED generation 1", marked, removed}},
		"dry run": {false, func(t *testing.T, w *testPlane) {
			deletePod(t, w, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
			deletePod(t, w, now)
		}, []string{marked, removed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			if c.running {
				createRunningPod(t, w, "p", "True")
			} else {
				w.create(t, podsPath, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
			}
			pod := must(w.clients.CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{}))(t)
			events := must(w.clients.CoreV1().Pods("default").Watch(t.Context(),
				metav1.ListOptions{ResourceVersion: pod.ResourceVersion}))(t)
			defer events.Stop()
			c.remove(t, w)
			var got []string
			for e := range events.ResultChan() {
				got = append(got, describeDeletion(e))
				if e.Type == watch.Deleted {
					break
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("events %q, want %q", got, c.want)
			}
		})
	}
}

func deletePod(t *testing.T, w *testPlane, o metav1.DeleteOptions) {
	t.Helper()
	if err := w.clients.CoreV1().Pods("default").Delete(t.Context(), "p", o); err != nil {
		t.Fatal(err)
	}
}

// describeDeletion describes an event with the fields of a deletion.
func describeDeletion(e watch.Event) string {
	pod := e.Object.(*corev1.Pod)
	if pod.DeletionTimestamp == nil {
		return fmt.Sprintf("%s generation %d", e.Type, pod.Generation)
	}
	return fmt.Sprintf("%s grace %d generation %d", e.Type, *pod.DeletionGracePeriodSeconds, pod.Generation)
}
