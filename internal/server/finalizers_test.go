package server_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const held = `{"metadata":{"name":"a","finalizers":["example.com/hold","example.com/too"]}}`

// A deleted object exists until its last finalizer is removed.
func TestFinalizersDelayDeletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.create(t, configMaps, held)
		s := w.open(t, configMaps+"?watch=1")
		s.want(t, "ADDED a")
		deleted := w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, http.StatusOK).object(t)
		began := time.Now().UTC().Format(time.RFC3339)
		if valueAt(deleted, "metadata", "deletionTimestamp") != began ||
			valueAt(deleted, "metadata", "deletionGracePeriodSeconds") != 0.0 {
			t.Errorf("the delete answers %v", deleted)
		}
		time.Sleep(time.Minute)
		again := w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, http.StatusOK).object(t)
		if valueAt(again, "metadata", "deletionTimestamp") != began ||
			valueAt(again, "metadata", "resourceVersion") != valueAt(deleted, "metadata", "resourceVersion") {
			t.Errorf("the second delete answers %v", again)
		}
		w.send(t, http.MethodPost, configMaps, held).wantError(t, http.StatusConflict, metav1.StatusReasonAlreadyExists,
			"object is being deleted")
		w.send(t, http.MethodPatch, configMaps+"/a",
			`{"metadata":{"finalizers":["example.com/new","example.com/hold","example.com/too"]}}`, "Content-Type",
			mergeType).
			wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
				"no new finalizers can be added if the object is being deleted")
		w.send(t, http.MethodPatch, configMaps+"/a",
			`{"data":{"k":"still"},"metadata":{"finalizers":["example.com/hold"]}}`, "Content-Type", mergeType).want(t,
			http.StatusOK)
		last := w.send(t, http.MethodPatch, configMaps+"/a", `{"metadata":{"finalizers":null}}`, "Content-Type",
			mergeType).want(t, http.StatusOK).object(t)
		if valueAt(last, "metadata", "name") != "a" || valueAt(last, "metadata", "finalizers") != nil {
			t.Errorf("the last write answers %v", last)
		}
		w.get(t, configMaps+"/a").wantError(t, http.StatusNotFound, metav1.StatusReasonNotFound, "")
		gone := s.want(t, "MODIFIED a", "MODIFIED a", "DELETED a")
		if valueAt(gone.Object, "data", "k") != "still" {
			t.Errorf("the last event shows %v", gone.Object)
		}
	})
}

// The propagation policy of a delete sets the finalizers of the garbage collector.
func TestDeletePropagationPolicies(t *testing.T) {
	t.Parallel()
	w := start(t)
	for policy, finalizer := range map[metav1.DeletionPropagation]string{
		metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents,
		metav1.DeletePropagationOrphan:     metav1.FinalizerOrphanDependents,
	} {
		name := string(finalizer[0])
		w.createConfigMaps(t, "default", name)
		maps := w.clients.CoreV1().ConfigMaps("default")
		if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			t.Fatal(err)
		}
		cm := must(maps.Get(t.Context(), name, metav1.GetOptions{}))(t)
		if len(cm.Finalizers) != 1 || cm.Finalizers[0] != finalizer || cm.DeletionTimestamp == nil {
			t.Errorf("%s: %+v", policy, cm.ObjectMeta)
		}
		background := metav1.DeletePropagationBackground
		if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			t.Fatal(err)
		}
		if _, err := maps.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s, then Background: %v, want not found", policy, err)
		}
	}
	w.createConfigMaps(t, "default", "b")
	w.send(t, http.MethodDelete, configMaps+"/b",
		`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Sideways"}`).wantError(t,
		http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "propagationPolicy")
	w.send(t, http.MethodDelete, configMaps+"/b",
		`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Orphan","orphanDependents":true}`).wantError(t,
		http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "")
	w.send(t, http.MethodDelete, configMaps+"/b", `{"kind":`).wantError(t, http.StatusBadRequest,
		metav1.StatusReasonBadRequest, "")
	w.send(t, http.MethodDelete, configMaps+"/b", `{"kind":"ConfigMap","apiVersion":"v1"}`).wantError(t,
		http.StatusBadRequest, metav1.StatusReasonBadRequest, `no kind "ConfigMap" is registered`)
	w.get(t, configMaps+"/b").want(t, http.StatusOK)
}

// Deletes and updates check the uid and the resourceVersion.
func TestDeleteAndUpdatePreconditions(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	maps := w.clients.CoreV1().ConfigMaps("default")
	cm := must(maps.Get(t.Context(), "a", metav1.GetOptions{}))(t)
	wrongUID, wrongVersion := types.UID("another"), "1"
	for _, p := range []metav1.Preconditions{
		{UID: &wrongUID}, {ResourceVersion: &wrongVersion}, {UID: &cm.UID, ResourceVersion: &wrongVersion},
		{UID: &wrongUID, ResourceVersion: &cm.ResourceVersion},
	} {
		if err := maps.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &p}); !apierrors.IsConflict(err) {
			t.Errorf("delete with %s: %v, want a conflict", p.String(), err)
		}
		if err := maps.DeleteCollection(t.Context(), metav1.DeleteOptions{Preconditions: &p},
			metav1.ListOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("deletecollection with %s: %v, want a conflict", p.String(), err)
		}
	}
	if err := maps.Delete(t.Context(), "a",
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &cm.UID,
			ResourceVersion: &cm.ResourceVersion}}); err != nil {
		t.Errorf("delete with what is there: %v", err)
	}

	w.createConfigMaps(t, "default", "b")
	for _, c := range []struct{ method, contentType, body string }{
		{http.MethodPut, jsonType, `{"metadata":{"name":"b","resourceVersion":"1"}}`},
		{http.MethodPatch, mergeType, `{"metadata":{"resourceVersion":"1"}}`},
		{http.MethodPatch, "application/strategic-merge-patch+json", `{"metadata":{"resourceVersion":"1"}}`},
		{http.MethodPatch, "application/json-patch+json",
			`[{"op":"replace","path":"/metadata/resourceVersion","value":"1"}]`},
	} {
		w.send(t, c.method, configMaps+"/b", c.body, "Content-Type", c.contentType).wantError(t, http.StatusConflict,
			metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on configmaps "b": the object has been modified`)
	}
}
