package server_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

const podsPath = "/api/v1/namespaces/default/pods"

// createBoundPod creates a pod that is bound to a node.
func createBoundPod(t testing.TB, w *testPlane, name string) {
	t.Helper()
	w.create(t, podsPath, `{"metadata":{"name":"`+name+`"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	w.create(t, podsPath+"/"+name+"/binding",
		`{"apiVersion":"v1","kind":"Binding","metadata":{"name":"`+name+`"},"target":{"kind":"Node","name":"n1"}}`)
}

// A delete of a running pod sets its grace period; the node's delete with a period of zero removes it.
func TestBoundPodIsDeletedGracefully(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.create(t, podsPath, `{"metadata":{"name":"idle"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
		w.send(t, http.MethodDelete, podsPath+"/idle", "").want(t, http.StatusOK)
		w.get(t, podsPath+"/idle").want(t, http.StatusNotFound)

		createBoundPod(t, w, "busy")
		began := time.Now().UTC()
		ending := w.send(t, http.MethodDelete, podsPath+"/busy", "").want(t, http.StatusOK).object(t)
		if valueAt(ending, "metadata", "deletionGracePeriodSeconds") != 30.0 ||
			valueAt(ending, "metadata", "deletionTimestamp") != began.Add(30*time.Second).Format(time.RFC3339) {
			t.Errorf("the delete answers %v", ending["metadata"])
		}
		sooner := w.send(t, http.MethodDelete, podsPath+"/busy", `{"gracePeriodSeconds":5}`).want(t,
			http.StatusOK).object(t)
		if valueAt(sooner, "metadata", "deletionGracePeriodSeconds") != 5.0 {
			t.Errorf("a shorter time answers %v", sooner["metadata"])
		}
		later := w.send(t, http.MethodDelete, podsPath+"/busy", `{"gracePeriodSeconds":60}`).want(t,
			http.StatusOK).object(t)
		if valueAt(later, "metadata", "deletionGracePeriodSeconds") != 5.0 {
			t.Errorf("a longer time answers %v", later["metadata"])
		}
		soon := w.send(t, http.MethodDelete, podsPath+"/busy", `{"gracePeriodSeconds":-1}`).want(t,
			http.StatusOK).object(t)
		if valueAt(soon, "metadata", "deletionGracePeriodSeconds") != 1.0 {
			t.Errorf("a negative time answers %v", soon["metadata"])
		}
		w.send(t, http.MethodDelete, podsPath+"/busy", `{"gracePeriodSeconds":0}`).want(t, http.StatusOK)
		w.get(t, podsPath+"/busy").want(t, http.StatusNotFound)
	})
}
