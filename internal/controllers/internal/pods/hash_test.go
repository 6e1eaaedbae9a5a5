package pods

import (
	"encoding/json"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/golden"
)

// The names are those of ReplicaSets that kube-controller-manager 1.36 created.
func TestHashMatchesKubernetes(t *testing.T) {
	t.Parallel()
	hashes := map[string]bool{}
	for _, step := range golden.Steps(t, "controllers/controllers-deployment.json") {
		if step.Method != "GET" || step.Path != "/apis/apps/v1/namespaces/default/deployments/nginx" {
			continue
		}
		var d appsv1.Deployment
		if json.Unmarshal(step.Response.Body, &d) != nil { // a Table, or a Status
			continue
		}
		hashes[Hash(&d.Spec.Template, d.Status.CollisionCount)] = true
	}
	for _, want := range []string{"76d5cfb9b6", "66b9cb6d4d"} {
		if !hashes[want] {
			t.Errorf("got hashes %v, want %s among them", hashes, want)
		}
	}
}

// The hashes were computed with k8s.io/api v0.36.3, whose structs lack later fields.
func TestUnsetNewFieldsDoNotChangeHash(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var template corev1.PodTemplateSpec
	if err := yaml.Unmarshal(data, &template); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		collisions *int32
		want       string
	}{{nil, "6fdb77b5d7"}, {ptr.To[int32](0), "b6b94cbc5"}, {ptr.To[int32](1), "7798d56978"}} {
		if got := Hash(&template, c.collisions); got != c.want {
			t.Errorf("with %v collisions: got %s, want %s", c.collisions, got, c.want)
		}
	}
	before := Hash(&template, nil)
	template.Spec.Volumes[0].EmptyDir.Mode = ptr.To[int32](0o700)
	if Hash(&template, nil) == before {
		t.Error("a newer field that is set: got the same hash, want another one")
	}
}
