package patch_test

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/bowline-dev/bowline/internal/patch"
)

// TestPartialStrategicPatchMatchesLibrary compares Apply, which decodes only the fields that the
// patch names, with the library, which decodes the whole object.
func TestPartialStrategicPatchMatchesLibrary(t *testing.T) {
	t.Parallel()
	const pod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","generation":9007199254740993,"finalizers":["e.com/a","e.com/b"],
		"labels":{"z":"<&>","a":"b"}},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}],"activeDeadlineSeconds":5},
		"status":{"phase":"Running","podIPs":[{"ip":"10.0.0.1"}]}}`
	const account = `{"metadata":{"name":"a"},"secrets":[{"name":"a"},{"name":"b"}],"imagePullSecrets":[{"name":"c"}]}`
	for _, c := range []struct {
		prototype   runtime.Object
		was, change string
	}{
		{&corev1.ServiceAccount{}, account, `{"$setElementOrder/secrets":[{"name":"b"},{"name":"a"}]}`},
		{&corev1.Pod{}, pod, `{}`},
		{&corev1.Pod{}, pod, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["e.com/a"]}}`},
		{&corev1.Pod{}, pod, `{"status":{"phase":"Failed"}}`},
		{&corev1.Pod{}, pod, `{"status":null}`},
		{&corev1.Pod{}, pod, `{"spec":{"containers":[{"name":"d","image":"i"}]},"metadata":{"labels":{"z":null}}}`},
		{&corev1.Pod{}, pod, `{"other":{"more":null,"a":1}}`},
		{&corev1.Pod{}, pod, `{"$patch":"replace","metadata":{"name":"b"}}`},
		{&corev1.Pod{}, pod, `{"$patch":"delete"}`},
		{&corev1.Pod{}, pod, `{"$retainKeys":["metadata","kind"],"metadata":{"name":"b"}}`},
	} {
		want, err := strategicpatch.StrategicMergePatch([]byte(c.was), []byte(c.change), c.prototype)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := patch.Apply(types.StrategicMergePatchType, []byte(c.was), []byte(c.change), c.prototype, false)
		if err != nil {
			t.Errorf("patch %s: %v", c.change, err)
			continue
		}
		if a, b := content(t, got), content(t, want); !reflect.DeepEqual(a, b) {
			t.Errorf("patch %s: got\n%s\nwant, as from the library,\n%s", c.change, got, want)
		}
	}
}

func content(t *testing.T, data []byte) (content any) {
	t.Helper()
	if err := json.Unmarshal(data, &content); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return content
}
