package server_test

import (
	"bytes"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Requests and answers in any mix of JSON and protobuf result in the same object.
func TestProtobufRequestsAndResponses(t *testing.T) {
	t.Parallel()
	w := start(t)
	cm := configMap("a", "k", "1")
	cm.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	cm.Labels = map[string]string{"l": "1"}
	for _, sent := range []string{jsonType, protobufType} {
		for _, accepted := range []string{jsonType, protobufType} {
			body := []byte(`{"metadata":{"name":"a","labels":{"l":"1"}},"data":{"k":"1"}}`)
			if sent == protobufType {
				body = protobuf(t, cm)
			}
			r := w.sendBody(t, http.MethodPost, configMaps, bytes.NewReader(body), "Content-Type", sent, "Accept",
				accepted).want(t, http.StatusCreated)
			if got := r.header.Get("Content-Type"); got != accepted {
				t.Errorf("%s to %s: answered in %s", sent, accepted, got)
			}
			var got corev1.ConfigMap
			if accepted == protobufType {
				got = *readProtobuf(t, r.body).(*corev1.ConfigMap)
			} else {
				r.into(t, &got)
			}
			if got.Data["k"] != "1" || got.Labels["l"] != "1" || got.UID == "" || got.ResourceVersion == "" {
				t.Errorf("%s to %s: %+v", sent, accepted, got)
			}
			read := readProtobuf(t, w.get(t, configMaps+"/a", "Accept", protobufType).want(t,
				http.StatusOK).body).(*corev1.ConfigMap)
			var plain corev1.ConfigMap
			w.get(t, configMaps+"/a").want(t, http.StatusOK).into(t, &plain)
			if read.ResourceVersion != got.ResourceVersion || plain.ResourceVersion != got.ResourceVersion ||
				read.Data["k"] != "1" {
				t.Errorf("%s to %s: read back %+v and %+v", sent, accepted, read, plain)
			}
			w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, http.StatusOK)
		}
	}
}

// An error in protobuf is the same Status as in JSON.
func TestErrorsInProtobuf(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	for _, c := range []struct {
		method, path, body string
		code               int32
		reason             metav1.StatusReason
	}{
		{http.MethodGet, configMaps + "/nothing", "", http.StatusNotFound, metav1.StatusReasonNotFound},
		{http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`, http.StatusConflict,
			metav1.StatusReasonAlreadyExists},
		{http.MethodPost, configMaps, `{"metadata":{"name":"UPPER"}}`, http.StatusUnprocessableEntity,
			metav1.StatusReasonInvalid},
		{http.MethodPost, configMaps, `{`, http.StatusBadRequest, metav1.StatusReasonBadRequest},
		{http.MethodGet, "/api/v1/namespaces/default/nothings", "", http.StatusNotFound, metav1.StatusReasonNotFound},
		{http.MethodPut, configMaps, `{}`, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed},
		{http.MethodGet, configMaps + "?labelSelector=%3D", "", http.StatusBadRequest, metav1.StatusReasonBadRequest},
	} {
		r := w.send(t, c.method, c.path, c.body, "Accept", protobufType).want(t, int(c.code))
		if s := r.protobufStatus(t); s.Code != c.code || s.Reason != c.reason || s.Status != metav1.StatusFailure ||
			s.Message == "" {
			t.Errorf("%s %s: %+v", c.method, c.path, s)
		}
	}
	s := w.send(t, http.MethodDelete, configMaps+"/a", "", "Accept", protobufType).want(t,
		http.StatusOK).protobufStatus(t)
	if s.Status != metav1.StatusSuccess || s.Details == nil || s.Details.Name != "a" {
		t.Errorf("the delete answers %+v", s)
	}
}

// Malformed protobuf is a 400 that describes the error.
func TestMalformedProtobuf(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	cm := configMap("a")
	cm.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	whole := protobuf(t, cm)
	for name, body := range map[string][]byte{
		"nothing": {}, "no magic": []byte("{}"), "cut in the magic": whole[:3], "cut in the envelope": whole[:9],
		"cut in the object": whole[:len(whole)-8],
		"noise": append([]byte("k8s\x00"), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff),
	} {
		for _, c := range []struct{ method, path string }{{http.MethodPost, configMaps},
			{http.MethodPut, configMaps + "/a"}} {
			r := w.sendBody(t, c.method, c.path, bytes.NewReader(body), "Content-Type", protobufType)
			if r.code != http.StatusBadRequest {
				t.Errorf("%s %s: %d %s", c.method, name, r.code, r.body)
			}
		}
	}
	w.sendBody(t, http.MethodPost, widgetsPath, bytes.NewReader(whole), "Content-Type", protobufType).wantError(t,
		http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, jsonType)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	secret.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	w.sendBody(t, http.MethodPost, configMaps, bytes.NewReader(protobuf(t, secret)), "Content-Type",
		protobufType).wantError(t, http.StatusBadRequest, metav1.StatusReasonBadRequest,
		"cannot be handled as a ConfigMap")
}

// The options of a delete may be sent in protobuf.
func TestDeleteOptionsInProtobuf(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	policy := metav1.DeletePropagationOrphan
	options := &metav1.DeleteOptions{DryRun: []string{"All"}, PropagationPolicy: &policy}
	options.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"})
	answer := w.sendBody(t, http.MethodDelete, configMaps+"/a", bytes.NewReader(protobuf(t, options)), "Content-Type",
		protobufType).want(t, http.StatusOK).object(t)
	if finalizers, _ := valueAt(answer, "metadata", "finalizers").([]any); len(finalizers) != 1 ||
		finalizers[0] != "orphan" {
		t.Errorf("the answer is %v, want the object with the finalizer orphan", answer)
	}
}
