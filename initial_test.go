package bowline_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/golden"
)

// TestInitialObjectsMatchKubernetes compares the initial objects of a plane with those of kube-apiserver, except
// for values that only the server knows: the port it listens on and the metadata it sets.
func TestInitialObjectsMatchKubernetes(t *testing.T) {
	t.Parallel()
	plane, err := bowline.Start(t.Context(), bowline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	client := dynamic.NewForConfigOrDie(plane.RESTConfig())
	for file, resource := range map[string]schema.GroupVersionResource{
		"v1-namespaces": {Version: "v1", Resource: "namespaces"},
		"v1-services":   {Version: "v1", Resource: "services"},
		"scheduling.k8s.io_v1-priorityclasses": {Group: "scheduling.k8s.io", Version: "v1",
			Resource: "priorityclasses"},
	} {
		want := map[string]map[string]any{}
		for line := range bytes.Lines(golden.File(t, "facts/start-"+file+".jsonl")) {
			addDeclared(t, want, line)
		}
		list, err := client.Resource(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]map[string]any{}
		for _, item := range list.Items {
			data, err := json.Marshal(item.Object)
			if err != nil {
				t.Fatal(err)
			}
			addDeclared(t, got, data)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-recorded +ours):\n%s", file, diff)
		}
	}
}

// addDeclared adds the fields declared by an object, by its name.
func addDeclared(t *testing.T, to map[string]map[string]any, data []byte) {
	t.Helper()
	var obj map[string]any
	if err := json.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	meta := obj["metadata"].(map[string]any)
	delete(obj, "kind")
	delete(obj, "apiVersion")
	maps.DeleteFunc(meta, func(name string, _ any) bool {
		return name != "name" && name != "namespace" && name != "labels"
	})
	if spec, ok := obj["spec"].(map[string]any); ok {
		ports, _ := spec["ports"].([]any)
		for _, port := range ports {
			delete(port.(map[string]any), "targetPort")
		}
	}
	to[meta["name"].(string)] = obj
}
