package patch_test

import (
	"encoding/json"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/patch"
)

// TestStrategicDirectives checks each directive of a strategic merge patch (strategic-merge-patch.md in
// contributors/devel/sig-api-machinery of kubernetes/community) on the struct tags of real kinds.
func TestStrategicDirectives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		prototype        runtime.Object
		was, patch, want string
	}{
		{"$retainKeys drops the keys of another member of a union", &appsv1.Deployment{},
			`{"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}}`,
			`{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}`,
			`{"spec":{"strategy":{"type":"Recreate"}}}`},
		{"without $retainKeys they stay", &appsv1.Deployment{},
			`{"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}}`,
			`{"spec":{"strategy":{"type":"Recreate"}}}`,
			`{"spec":{"strategy":{"type":"Recreate","rollingUpdate":{"maxSurge":1}}}}`},
		{"$retainKeys in an item of a list", &corev1.Pod{},
			`{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`,
			`{"spec":{"volumes":[{"name":"v","$retainKeys":["name","secret"],"secret":{"secretName":"s"}}]}}`,
			`{"spec":{"volumes":[{"name":"v","secret":{"secretName":"s"}}]}}`},
		{"$deleteFromPrimitiveList", &corev1.Pod{},
			`{"metadata":{"finalizers":["e.com/a","e.com/b","e.com/c"]}}`,
			`{"metadata":{"$deleteFromPrimitiveList/finalizers":["e.com/a","e.com/x"],"finalizers":["e.com/d"]}}`,
			`{"metadata":{"finalizers":["e.com/d","e.com/b","e.com/c"]}}`},
		{"$setElementOrder of a list of strings", &corev1.Pod{},
			`{"metadata":{"finalizers":["e.com/a","e.com/b"]}}`,
			`{"metadata":{"$setElementOrder/finalizers":["e.com/c","e.com/b","e.com/a"],"finalizers":["e.com/c"]}}`,
			`{"metadata":{"finalizers":["e.com/c","e.com/b","e.com/a"]}}`},
		{"$patch: replace of a whole list", &corev1.Pod{},
			`{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`,
			`{"spec":{"containers":[{"name":"c"},{"$patch":"replace"}]}}`,
			`{"spec":{"containers":[{"name":"c"}]}}`},
		{"$patch: delete of a map", &corev1.Pod{},
			`{"spec":{"securityContext":{"runAsUser":1},"nodeName":"n"}}`,
			`{"spec":{"securityContext":{"$patch":"delete"}}}`,
			`{"spec":{"securityContext":{},"nodeName":"n"}}`},
		{"ports of a service merge by port alone", &corev1.Service{},
			`{"spec":{"ports":[{"port":53,"protocol":"UDP","name":"u"},{"port":80,"name":"w"}]}}`,
			`{"spec":{"ports":[{"port":53,"name":"dns"}]}}`,
			`{"spec":{"ports":[{"port":53,"protocol":"UDP","name":"dns"},{"port":80,"name":"w"}]}}`},
		{"conditions merge by type", &corev1.Pod{},
			`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`,
			`{"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"E","status":"True"}]}}`,
			`{"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"E","status":"True"}]}}`},
		{"null removes a field and an item's field", &corev1.Pod{},
			`{"spec":{"nodeName":"n","containers":[{"name":"a","image":"i","args":["x"]}]}}`,
			`{"spec":{"nodeName":null,"containers":[{"name":"a","args":null}]}}`,
			`{"spec":{"containers":[{"name":"a","image":"i"}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := patch.Apply(types.StrategicMergePatchType, []byte(c.was), []byte(c.patch), c.prototype,
				false)
			if err != nil {
				t.Fatal(err)
			}
			if !sameJSON(t, got, []byte(c.want)) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	for text, into := range map[*[]byte]*any{&a: &x, &b: &y} {
		if err := json.Unmarshal(*text, into); err != nil {
			t.Fatalf("%s: %v", *text, err)
		}
	}
	return reflect.DeepEqual(x, y)
}
