package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/golden"
)

// files are the recorded answers of a real kube-apiserver.
var files = []string{
	"apply.json", "configmap-patch.json", "configmap-write.json", "crd.json", "deployments.json", "discovery.json",
	"kinds.json",
	"kinds2-other-versions.json", "list-and-select.json", "namespaces.json", "pods.json", "rbac.json", "watch.json",
}

// recordedGets returns the answers of a real server to GETs of JSON.
func recordedGets(t *testing.T, keep func(golden.Step) bool) []golden.Step {
	t.Helper()
	var gets []golden.Step
	for _, file := range files {
		for _, s := range golden.Steps(t, file) {
			if s.Method == http.MethodGet && s.Headers["Accept"] == "application/json" && keep(s) {
				gets = append(gets, s)
			}
		}
	}
	return gets
}

// replay returns a server that answers every request with one recorded answer.
func replay(t *testing.T, answer golden.Response) *client.Client {
	t.Helper()
	return connect(t, func(w http.ResponseWriter, r *http.Request) {
		for name, value := range answer.Headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(answer.Status)
		var text string
		if json.Unmarshal(answer.Body, &text) == nil {
			w.Write([]byte(text)) // no JSON, as it was recorded
			return
		}
		w.Write(answer.Body)
	})
}

// reads checks that a client of T reads a recorded object without losing a field of the Go type.
func reads[T client.Object](t *testing.T, s golden.Step) {
	t.Helper()
	got, err := client.Of[T](replay(t, s.Response), configmaps).Get(t.Context(), "default", "a")
	if err != nil {
		t.Errorf("%s: %v", s.Path, err)
		return
	}
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var want, have map[string]any
	if err := errors.Join(json.Unmarshal(s.Response.Body, &want), json.Unmarshal(data, &have)); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"kind", "apiVersion", "metadata", "data", "spec"} {
		if want[part] != nil && !reflect.DeepEqual(want[part], have[part]) {
			t.Errorf("%s: %s: got %v, want %v", s.Path, part, have[part], want[part])
		}
	}
}

func TestRecordedObjectsAreDecoded(t *testing.T) {
	t.Parallel()
	as := map[string]func(*testing.T, golden.Step){
		"ConfigMap": reads[*corev1.ConfigMap], "Pod": reads[*corev1.Pod], "Namespace": reads[*corev1.Namespace],
		"Deployment":               reads[*appsv1.Deployment],
		"CustomResourceDefinition": reads[*apiextensionsv1.CustomResourceDefinition],
	}
	kinds := map[string]int{}
	for _, s := range recordedGets(t, func(s golden.Step) bool { return s.Response.Status == http.StatusOK }) {
		var head metav1.PartialObjectMetadata
		if json.Unmarshal(s.Response.Body, &head) != nil || head.Name == "" {
			continue // a list, a watch, a text
		}
		kinds[head.Kind]++
		reads[*unstructured.Unstructured](t, s)
		if typed := as[head.Kind]; typed != nil {
			typed(t, s)
		}
	}
	for kind := range as {
		if kinds[kind] == 0 {
			t.Errorf("no %s was recorded", kind)
		}
	}
}

func TestRecordedFailuresAreStatusErrors(t *testing.T) {
	t.Parallel()
	texts := 0
	// not of its status alone
	failed := func(s golden.Step) bool { return s.Response.Status >= 400 && len(s.Response.Body) > len("null") }
	for _, s := range recordedGets(t, failed) {
		_, err := client.Of[*corev1.ConfigMap](replay(t, s.Response), configmaps).Get(t.Context(), "default", "a")
		var status apierrors.APIStatus
		if !errors.As(err, &status) || int(status.Status().Code) != s.Response.Status {
			t.Errorf("%s, status %d: got %v", s.Path, s.Response.Status, err)
			continue
		}
		var want metav1.Status
		if json.Unmarshal(s.Response.Body, &want) != nil { // a text
			texts++
			continue
		}
		if got := status.Status(); got.Message != want.Message || got.Reason != want.Reason {
			t.Errorf("%s: got %q (%s), want %q (%s)", s.Path, got.Message, got.Reason, want.Message, want.Reason)
		}
	}
	if texts == 0 {
		t.Error("no recorded answer was plain text")
	}
}

// The discovery of a real server is sufficient to find the resource of a Go type.
func TestForFindsRecordedResources(t *testing.T) {
	t.Parallel()
	answers := map[string]golden.Response{}
	// which was not recorded
	groups := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, s := range recordedGets(t, func(s golden.Step) bool { return s.Response.Status == http.StatusOK }) {
		answers[s.Path] = s.Response
		if group, ok := strings.CutSuffix(strings.TrimPrefix(s.Path, "/apis/"), "/v1"); ok &&
			!strings.Contains(group, "/") {
			version := metav1.GroupVersionForDiscovery{GroupVersion: group + "/v1", Version: "v1"}
			groups.Groups = append(groups.Groups,
				metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{version}})
		}
	}
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis" {
			body, _ := json.Marshal(groups)
			answer(w, http.StatusOK, string(body))
			return
		}
		recording, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		answer(w, recording.Status, string(recording.Body))
	})
	for want, got := range map[string]string{
		"v1/configmaps":                 which[*corev1.ConfigMap](t, c),
		"v1/pods":                       which[*corev1.Pod](t, c),
		"v1/nodes":                      which[*corev1.Node](t, c),
		"apps/v1/deployments":           which[*appsv1.Deployment](t, c),
		"apps/v1/replicasets":           which[*appsv1.ReplicaSet](t, c),
		"batch/v1/jobs":                 which[*batchv1.Job](t, c),
		"coordination.k8s.io/v1/leases": which[*coordinationv1.Lease](t, c),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
