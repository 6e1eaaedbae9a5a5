package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// Typed clients, which lack the field, do not change it, in either format, nor do writes of subresources and
// applies. A PUT with null removes it.
func TestTypedClientsPreserveInitializers(t *testing.T) {
	t.Parallel()
	w := start(t)
	configureInitializers(t, w, "a", "pods", "first.example.com", "second.example.com")
	body := `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	w.send(t, http.MethodPost, podsPath+hidden, body).want(t, http.StatusCreated)
	still := func(what string) {
		t.Helper()
		obj := w.get(t, podsPath+"/a").object(t)
		if got := pending(obj); got != "first.example.com second.example.com" ||
			valueAt(obj, "metadata", "annotations", what) != "1" && what != "status" {
			t.Errorf("%s: the pending initializers are %q of %v", what, got, obj["metadata"])
		}
	}
	for _, contentType := range []string{jsonType, protobufType} {
		pods := typed(t, w.config, contentType).CoreV1().Pods("default")
		pod := must(pods.Get(t.Context(), "a", metav1.GetOptions{}))(t)
		if len(pod.Annotations) > 0 && contentType == jsonType {
			t.Errorf("%s: annotations %v", contentType, pod.Annotations)
		}
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, strings.ReplaceAll(contentType, "/", "."), "1")
		must(pods.Update(t.Context(), pod, metav1.UpdateOptions{}))(t)
		still(strings.ReplaceAll(contentType, "/", "."))
		pod = must(pods.Get(t.Context(), "a", metav1.GetOptions{}))(t)
		pod.Status.Message = contentType
		must(pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}))(t)
		still("status")
	}
	w.apply(t, podsPath+"/a", "m",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","annotations":{"applied":"1"}}}`).want(t, 200)
	still("applied")
	w.merge(t, podsPath+"/a/status", `{"metadata":{"initializers":null,"annotations":{"part":"1"}}}`).want(t, 200)
	still("part")
	obj := w.get(t, podsPath+"/a").object(t)
	obj["metadata"].(map[string]any)["initializers"] = nil
	w.send(t, http.MethodPut, podsPath+"/a", string(must(json.Marshal(obj))(t))).want(t, 200)
	if got := w.names(t, podsPath); got != "a" {
		t.Errorf("after a PUT of null, the list has %q", got)
	}
}

// Custom resources have initializers, too.
func TestInitializersOfCustomResources(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	configureInitializers(t, w, "a", "widgets", "first.example.com", "second.example.com")
	w.send(t, http.MethodPost, widgetsPath+hidden, widget("a", `{"size":1}`)).want(t, http.StatusCreated)
	if got := w.names(t, widgetsPath); got != "" {
		t.Errorf("listed %q", got)
	}
	all := w.dynamic.Resource(widgetsResource).Namespace("default")
	u := must(all.Get(t.Context(), "a", metav1.GetOptions{}))(t)
	if got := pending(u.Object); got != "first.example.com second.example.com" {
		t.Errorf("the pending initializers are %q", got)
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "initializers") // as a client without the field would
	u.SetLabels(map[string]string{"a": "b"})
	u = must(all.Update(t.Context(), u, metav1.UpdateOptions{}))(t)
	w.apply(t, widgetsPath+"/a", "m",
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","labels":{"applied":"1"}}}`).want(t, 200)
	w.merge(t, widgetsPath+"/a/status", `{"metadata":{"initializers":null},"status":{"ready":true}}`).want(t, 200)
	if got := pending(w.get(t, widgetsPath+"/a").object(t)); got != "first.example.com second.example.com" ||
		u.GetLabels()["a"] != "b" {
		t.Errorf("the pending initializers are %q, of %v", got, u)
	}
	w.merge(t, widgetsPath+"/a", `{"metadata":{"initializers":{"pending":[{"name":"second.example.com"}]}}}`).want(t,
		200)
	w.merge(t, widgetsPath+"/a", `{"metadata":{"initializers":{"pending":[]}}}`).want(t, 200)
	if got := w.names(t, widgetsPath); got != "a" {
		t.Errorf("listed %q", got)
	}
	if obj := w.get(t, widgetsPath+"/a").object(t); valueAt(obj, "metadata", "initializers") != nil ||
		valueAt(obj, "metadata", "labels", "applied") != "1" {
		t.Errorf("it is %v", obj)
	}
	w.send(t, http.MethodPost, widgetsPath+hidden,
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b","initializers":"x"}}`).
		wantError(t, http.StatusBadRequest, metav1.StatusReasonBadRequest, "cannot unmarshal")
}

// Every form of an answer shows initializers, and none shows how the server stores them, also after a
// restart.
func TestInitializersInEveryMediaType(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	w := start(t, storedIn(journal))
	configureInitializers(t, w, "a", "configmaps", "first.example.com")
	w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"json"}}`).want(t, 201)
	w.sendBody(t, http.MethodPost, configMaps+hidden, strings.NewReader(string(protobuf(t, configMap("protobuf")))),
		"Content-Type", protobufType, "Accept", protobufType).want(t, 201)
	for _, restarted := range []bool{false, true} {
		for _, name := range []string{"/json", "/protobuf", hidden} {
			for _, accept := range []string{
				jsonType, yamlType, protobufType,
				"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
				protobufType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
				"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
				"application/json;as=Table;g=meta.k8s.io;v=v1",
			} {
				if strings.Contains(accept, "List") != (name == hidden) && strings.Contains(accept, "Partial") {
					continue
				}
				body := string(w.get(t, configMaps+name, "Accept", accept).want(t, 200).body)
				if !strings.Contains(body, "first.example.com") || strings.Contains(body, "bowline.dev/initializers") {
					t.Errorf("%s as %s (restarted: %v):\n%s", name, accept, restarted, body)
				}
			}
		}
		if got := w.names(t, configMaps); got != "" {
			t.Errorf("restarted: %v, seen %q", restarted, got)
		}
		if !restarted {
			w = w.restart(t, journal)
		}
	}
	w.merge(t, configMaps+"/protobuf", `{"metadata":{"initializers":null}}`).want(t, 200)
	if got := w.names(t, configMaps); got != "protobuf" {
		t.Errorf("listed %q", got)
	}
}

// Initializers have no owner, and cannot be sent in the annotation in which they are stored.
func TestInitializersHaveNoOwner(t *testing.T) {
	t.Parallel()
	w := start(t)
	configureInitializers(t, w, "a", "configmaps", "first.example.com", "second.example.com")
	const body = `{"metadata":{"name":"a","annotations":{"bowline.dev/initializers":"{\"pending\":[]}"}},"data":{"k":"1"}}`
	w.send(t, http.MethodPost, configMaps+hidden+"&fieldManager=m", body).want(t, 201)
	w.send(t, http.MethodPatch, configMaps+"/a?fieldManager=n",
		`{"metadata":{"initializers":{"pending":[{"name":"second.example.com"}]}}}`,
		"Content-Type", mergeType).want(t, 200)
	r := w.get(t, configMaps+"/a")
	r.owned(t, `m Update v1 {"f:data":{".":{},"f:k":{}}}`)
	if got := pending(r.object(t)); got != "second.example.com" {
		t.Errorf("the pending initializers are %q", got)
	}
	w.send(t, http.MethodPatch, configMaps+"/a?fieldValidation=Strict", `{"metadata":{"initializers":{"pending":[]}}}`,
		"Content-Type", mergeType).want(t, 200)
}

// Webhooks see initializers, and retain them in their patches.
func TestAdmissionReviewHasInitializers(t *testing.T) {
	t.Parallel()
	w := start(t)
	configureInitializers(t, w, "a", "configmaps", "first.example.com", "second.example.com")
	g := startWebhook(t, func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{
			Allowed: true, PatchType: new(admissionv1.PatchTypeJSONPatch),
			Patch: []byte(`[{"op":"add","path":"/metadata/labels","value":{"asked":"yes"}}]`),
		}
	})
	registerWebhook(t, w, mutatingPath, "label", g, "")
	made := w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"a"}}`).want(t,
		http.StatusCreated).object(t)
	w.merge(t, configMaps+"/a",
		`{"metadata":{"labels":null,"initializers":{"pending":[{"name":"second.example.com"}]}}}`).want(t, 200)
	changed := w.get(t, configMaps+"/a").object(t)
	for want, obj := range map[string]map[string]any{"first.example.com second.example.com": made,
		"second.example.com": changed} {
		if pending(obj) != want || valueAt(obj, "metadata", "labels", "asked") != "yes" {
			t.Errorf("the pending initializers are %q, of %v", pending(obj), obj)
		}
	}
	r := g.last()
	if now, old := string(r.Object.Raw), string(r.OldObject.Raw); strings.Contains(now, "first.example.com") ||
		!strings.Contains(now, "second.example.com") ||
		!strings.Contains(old, "first.example.com") || strings.Contains(now+old, "bowline.dev/initializers") {
		t.Errorf("the review has the object %s and the old object %s", now, old)
	}
}

// Initializers are equal in each version of a kind.
func TestInitializersInOtherVersions(t *testing.T) {
	t.Parallel()
	w := start(t)
	configureInitializers(t, w, "a", "deployments", "first.example.com")
	const apps, extensions = "/apis/apps/v1/namespaces/default/deployments",
		"/apis/extensions/v1beta1/namespaces/default/deployments"
	for name, path := range map[string]string{"new": apps, "old": extensions} {
		body := strings.Replace(strings.Replace(ownedDeployment, `"name":"d"`, `"name":"`+name+`"`, 1),
			`"apiVersion":"apps/v1",`, "", 1)
		w.send(t, http.MethodPost, path+hidden, body).want(t, http.StatusCreated)
		for _, shown := range []string{apps, extensions} {
			if got := pending(w.get(t, shown+"/"+name).object(t)); got != "first.example.com" {
				t.Errorf("%s at %s: the pending initializers are %q", name, shown, got)
			}
		}
		w.merge(t, extensions+"/"+name, `{"metadata":{"initializers":null}}`).want(t, 200)
		if got := w.names(t, apps); !strings.Contains(got, name) {
			t.Errorf("listed %q", got)
		}
	}
}

// A fork hides the objects that its plane hides.
func TestForkHidesUninitializedObjects(t *testing.T) {
	t.Parallel()
	w := start(t)
	configureInitializers(t, w, "a", "configmaps", "first.example.com")
	w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
	f := w.fork(t)
	if got := f.names(t, configMaps); got != "" {
		t.Errorf("listed %q", got)
	}
	f.merge(t, configMaps+"/a", `{"metadata":{"initializers":null}}`).want(t, 200)
	if got, original := f.names(t, configMaps), w.names(t, configMaps); got != "a" || original != "" {
		t.Errorf("initialized in the fork, seen are %q there and %q", got, original)
	}
}
