package server_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DeleteOptions of any group-version are accepted in the body or in the query.
func TestDeleteOptions(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	policy := metav1.DeletePropagationOrphan
	core := &metav1.DeleteOptions{DryRun: []string{"All"}, PropagationPolicy: &policy}
	core.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"})
	for name, c := range map[string]struct{ query, contentType, body string }{
		"JSON": {"", jsonType,
			`{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"],"propagationPolicy":"Orphan"}`},
		"without a kind": {"", jsonType, `{"dryRun":["All"],"propagationPolicy":"Orphan"}`},
		"of metadata": {"", jsonType,
			`{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","dryRun":["All"],"propagationPolicy":"Orphan"}`},
		"YAML":     {"", yamlType, "kind: DeleteOptions\napiVersion: v1\ndryRun: [All]\npropagationPolicy: Orphan\n"},
		"protobuf": {"", protobufType, string(protobuf(t, core))},
		"query":    {"?dryRun=All&propagationPolicy=Orphan", jsonType, ""},
		"charset":  {"", jsonType + "; charset=utf-8", `{"dryRun":["All"],"propagationPolicy":"Orphan"}`},
	} {
		answer := w.send(t, http.MethodDelete, configMaps+"/a"+c.query, c.body, "Content-Type", c.contentType).want(t,
			http.StatusOK).object(t)
		if finalizers, _ := valueAt(answer, "metadata", "finalizers").([]any); len(finalizers) != 1 ||
			finalizers[0] != "orphan" {
			t.Errorf("%s: %v, want the object as it would be left", name, answer)
		}
	}
	if finalizers := valueAt(w.get(t, configMaps+"/a").object(t), "metadata", "finalizers"); finalizers != nil {
		t.Errorf("dry runs left %v", finalizers)
	}
	w.send(t, http.MethodDelete, configMaps+"/a", "<a/>", "Content-Type", "text/xml").wantError(t,
		http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, jsonType)
	w.send(t, http.MethodDelete, configMaps+"/a?gracePeriodSeconds=x", "").wantError(t, http.StatusBadRequest,
		metav1.StatusReasonBadRequest, "invalid syntax")
}

// A delete answers with a Status if the object is gone, with the object if something holds it, and with 202
// for the deprecated option orphanDependents=false.
func TestDeleteResponse(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	gone := w.send(t, http.MethodDelete, configMaps+"/a?orphanDependents=false", "").want(t, http.StatusOK).object(t)
	if gone["kind"] != "Status" || valueAt(gone, "details", "kind") != "configmaps" ||
		valueAt(gone, "details", "uid") == nil {
		t.Errorf("answered %v", gone)
	}
	w.create(t, configMaps, `{"metadata":{"name":"held","finalizers":["example.com/f"]}}`)
	for _, again := range []string{"first", "again"} {
		held := w.send(t, http.MethodDelete, configMaps+"/held?orphanDependents=false", "").want(t,
			http.StatusAccepted).object(t)
		if held["kind"] != "ConfigMap" || valueAt(held, "metadata", "deletionTimestamp") == nil {
			t.Errorf("%s: answered %v", again, held)
		}
	}
	w.createConfigMaps(t, "default", "b")
	orphaning := w.send(t, http.MethodDelete, configMaps+"/b?orphanDependents=true", "").want(t,
		http.StatusOK).object(t)
	if finalizers, _ := valueAt(orphaning, "metadata", "finalizers").([]any); len(finalizers) != 1 ||
		finalizers[0] != "orphan" {
		t.Errorf("with orphanDependents=true: answered %v", orphaning)
	}
	w.send(t, http.MethodDelete, configMaps+"/held", "").want(t, http.StatusOK)
	table := w.send(t, http.MethodDelete, configMaps+"/held", "", "Accept", tableType).want(t, http.StatusOK).object(t)
	if table["kind"] != "Table" {
		t.Errorf("as a table: %v", table)
	}
	all := w.send(t, http.MethodDelete, configMaps+"?dryRun=All", "", "Accept", tableType).want(t,
		http.StatusOK).object(t)
	if rows, _ := all["rows"].([]any); all["kind"] != "Table" || len(rows) != 2 {
		t.Errorf("a collection as a table: %v", all)
	}
}

// The option to ignore read errors only applies to objects that cannot be decoded (KEP-3926).
func TestIgnoreReadErrorRejectsReadableObject(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	const option = "ignoreStoreReadErrorWithClusterBreakingPotential=true"
	w.send(t, http.MethodDelete, configMaps+"/a?"+option, "").wantError(t, http.StatusConflict,
		metav1.StatusReasonConflict, "the object is decodable from storage")
	w.send(t, http.MethodDelete, configMaps+"/a?gracePeriodSeconds=1&"+option, "").wantError(t,
		http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "ignoreStoreReadErrorWithClusterBreakingPotential")
	w.send(t, http.MethodDelete, configMaps+"?"+option, "").wantError(t, http.StatusUnprocessableEntity,
		metav1.StatusReasonInvalid, "not allowed with DELETECOLLECTION")
	w.get(t, configMaps+"/a").want(t, http.StatusOK)
}

// The grace period of a deleted pod only gets shorter, counted from the first delete, and nothing else about
// its deletion changes.
func TestPodGracePeriodOnlyDecreases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		pods := w.clients.CoreV1().Pods("default")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"},
			Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		must(pods.Create(t.Context(), pod, metav1.CreateOptions{}))(t)
		began := time.Now()
		for _, step := range []struct {
			wait            time.Duration
			seconds         int64 // asked for
			left, endsAfter int64
		}{
			{0, 30, 30, 30},
			{5 * time.Second, 60, 30, 30},
			{0, 20, 20, 20},               // 20 seconds from the first delete
			{10 * time.Second, 10, 1, 15}, // over: a second remains, so that the node observes the change
		} {
			time.Sleep(step.wait)
			orphan := metav1.DeletePropagationOrphan
			if step.seconds == 30 {
				orphan = metav1.DeletePropagationBackground
			}
			if err := pods.Delete(t.Context(), "p",
				metav1.DeleteOptions{GracePeriodSeconds: &step.seconds, PropagationPolicy: &orphan}); err != nil {
				t.Fatal(err)
			}
			got := must(pods.Get(t.Context(), "p", metav1.GetOptions{}))(t)
			ends := int64(got.DeletionTimestamp.Sub(began).Round(time.Second) / time.Second)
			if *got.DeletionGracePeriodSeconds != step.left || ends != step.endsAfter {
				t.Errorf("delete with %d seconds: period %d, deletion after %d; want %d and %d", step.seconds,
					*got.DeletionGracePeriodSeconds, ends, step.left, step.endsAfter)
			}
			if step.seconds == 60 && len(got.Finalizers) > 0 {
				t.Errorf("a delete that changed nothing left %v", got.Finalizers)
			}
		}
	})
}
