package server_test

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The status is only written through its subresource, which writes nothing else.
func TestStatusSubresource(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	deployments := "/apis/apps/v1/namespaces/default/deployments"
	w.create(t, deployments, deploymentBody("a"))
	created := w.create(t, widgetsPath,
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":1},"status":{"size":9}}`)
	if created["status"] != nil {
		t.Errorf("a create stores the status %v", created["status"])
	}
	for _, c := range []struct{ path, spec, status string }{
		{deployments + "/a", "replicas", "replicas"}, {widgetsPath + "/a", "size", "size"},
	} {
		spec := valueAt(w.get(t, c.path).object(t), "spec", c.spec)
		patch := `{"metadata":{"labels":{"from":"status"}},"spec":{"` + c.spec + `":4},"status":{"` + c.status + `":2}}`
		through := w.send(t, http.MethodPatch, c.path+"/status", patch, "Content-Type", mergeType).want(t,
			http.StatusOK).object(t)
		if valueAt(through, "spec", c.spec) != spec || valueAt(through, "status", c.status) != 2.0 {
			t.Errorf("%s: through status: %v", c.path, through)
		}
		around := w.send(t, http.MethodPatch, c.path, `{"spec":{"`+c.spec+`":5},"status":{"`+c.status+`":3}}`,
			"Content-Type", mergeType).want(t, http.StatusOK).object(t)
		if valueAt(around, "spec", c.spec) != 5.0 || valueAt(around, "status", c.status) != 2.0 {
			t.Errorf("%s: around status: %v", c.path, around)
		}
		shown := w.get(t, c.path+"/status").want(t, http.StatusOK).object(t)
		if valueAt(shown, "spec", c.spec) != 5.0 || valueAt(shown, "status", c.status) != 2.0 {
			t.Errorf("%s: status shows %v", c.path, shown)
		}
		w.send(t, http.MethodDelete, c.path+"/status", "").wantError(t, http.StatusMethodNotAllowed,
			metav1.StatusReasonMethodNotAllowed, "")
	}
	w.createConfigMaps(t, "default", "a")
	w.get(t, configMaps+"/a/status").wantError(t, http.StatusNotFound, metav1.StatusReasonNotFound,
		"the server could not find the requested resource")
}

// Without a status subresource, the status of a custom resource is an ordinary field, and the generation
// counts its changes.
func TestCustomKindWithoutStatusSubresource(t *testing.T) {
	t.Parallel()
	w := start(t)
	crd := widgets()
	crd.Spec.Versions[0].Subresources = nil
	define(t, w, crd)
	w.create(t, widgetsPath, widget("a", `{"size":1}`))
	patched := w.send(t, http.MethodPatch, widgetsPath+"/a", `{"status":{"size":2}}`, "Content-Type", mergeType).want(t,
		http.StatusOK).object(t)
	if valueAt(patched, "status", "size") != 2.0 || valueAt(patched, "metadata", "generation") != 2.0 {
		t.Errorf("patched %v", patched)
	}
	w.send(t, http.MethodPatch, widgetsPath+"/a/status", `{}`, "Content-Type", mergeType).want(t, http.StatusNotFound)
}

// Deployments, replica sets and custom kinds have a scale.
func TestScale(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.create(t, "/apis/apps/v1/namespaces/default/deployments", deploymentBody("a"))
	w.create(t, "/apis/apps/v1/namespaces/default/replicasets", deploymentBody("a"))
	w.create(t, widgetsPath, widget("a", `{"size":3}`))
	for path, field := range map[string]string{
		"/apis/apps/v1/namespaces/default/deployments/a": "replicas",
		"/apis/apps/v1/namespaces/default/replicasets/a": "replicas", widgetsPath + "/a": "size",
	} {
		shown := w.get(t, path+"/scale").want(t, http.StatusOK)
		scale := shown.object(t)
		if scale["kind"] != "Scale" || scale["apiVersion"] != "autoscaling/v1" ||
			valueAt(scale, "spec", "replicas") != 3.0 {
			t.Errorf("%s: %v", path, scale)
		}
		scaled := w.send(t, http.MethodPatch, path+"/scale", `{"spec":{"replicas":5}}`, "Content-Type",
			mergeType).want(t, http.StatusOK).object(t)
		if valueAt(scaled, "spec", "replicas") != 5.0 || scaled["kind"] != "Scale" {
			t.Errorf("%s: scaled %v", path, scaled)
		}
		w.send(t, http.MethodPut, path+"/scale", string(shown.body)).wantError(t, http.StatusConflict,
			metav1.StatusReasonConflict, "the object has been modified")
		const another = `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a","uid":"another"},"spec":{"replicas":1}}`
		w.send(t, http.MethodPut, path+"/scale", another).
			wantError(t, http.StatusConflict, metav1.StatusReasonConflict,
				"Precondition failed: UID in precondition: another")
		w.send(t, http.MethodPatch, path+"/scale", `{"spec":{"replicas":-1}}`, "Content-Type", mergeType).wantError(t,
			http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "")
		if got := valueAt(w.get(t, path).object(t), "spec", field); got != 5.0 {
			t.Errorf("%s: the object has %v", path, got)
		}
	}
}
