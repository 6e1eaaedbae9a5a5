package patch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/patch"
)

// otherStages lists the recorded patches whose response other packages produce.
var otherStages = map[int]string{
	5:  "the revision is compared at commit",
	6:  "the name is compared with the URL",
	7:  "the server validates metadata",
	9:  "the kind of the result is compared with the resource",
	21: "the object is not there",
	28: "the pod's rules refuse it", 29: "the pod's rules refuse it", 31: "the pod's rules refuse it",
	33: "the pod's rules refuse it",
	32: "admission adds tolerations",
}

// TestPatchesMatchRecordings applies each recorded patch to the recorded object.
func TestPatchesMatchRecordings(t *testing.T) {
	t.Parallel()
	kinds := map[string]kind.Kind{}
	for _, k := range core.Kinds(object.NewCache(1 << 20)) {
		kinds[k.Info().Plural] = k
	}
	current := map[string][]byte{}
	for i, s := range golden.Steps(t, "configmap-patch.json") {
		path, query, _ := strings.Cut(s.Path, "?")
		resource := strings.Split(path, "/")[5]
		body := compact(t, s.Response.Body)
		if s.Method == "PATCH" && otherStages[i] == "" {
			strict := strings.Contains(query, "fieldValidation=Strict")
			next, err := apply(kinds[resource], s, current[resource], strict)
			compare(t, i, s.Response.Status, body, next, err)
		}
		if s.Response.Status < 300 && !strings.Contains(query, "dryRun") {
			current[resource] = body
		}
	}
}

// apply does what the server does with a patch up to decoding the object.
func apply(k kind.Kind, s golden.Step, current []byte, strict bool) ([]byte, error) {
	t, body, prototype := types.PatchType(s.Headers["Content-Type"]), []byte(s.Body), k.Prototype("v1")
	next, found, err := patch.Apply(t, current, body, prototype, false)
	if err != nil {
		return nil, err
	}
	obj, unknown, err := k.DecodeRequest(object.Form{APIVersion: "v1"}, next, false)
	if err != nil {
		return nil, patch.DecodeError(t, body, next, prototype, err)
	}
	if found = append(found, unknown...); strict && len(found) > 0 {
		return nil, patch.StrictError(t, body, next, found)
	}
	return k.Encode(object.Form{APIVersion: "v1"}, obj)
}

func compare(t *testing.T, i, code int, want, next []byte, err error) {
	t.Helper()
	if err == nil {
		if code >= 300 {
			t.Errorf("[%d]: got no error, want %s", i, want)
		} else if diff := cmp.Diff(comparable(t, want), comparable(t, next)); diff != "" {
			t.Errorf("[%d]: %s", i, diff)
		}
		return
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		t.Errorf("[%d]: error %v is not a Status", i, err)
		return
	}
	got := status.ErrStatus
	got.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	data, _ := json.Marshal(got)
	if diff := cmp.Diff(comparable(t, want), comparable(t, data)); diff != "" {
		t.Errorf("[%d]: %s", i, diff)
	}
}

// comparable returns JSON as a value, without the fields that a commit changes.
func comparable(t *testing.T, data []byte) any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if meta, ok := v["metadata"].(map[string]any); ok {
		for _, f := range []string{"resourceVersion", "managedFields", "generation"} {
			delete(meta, f)
		}
	}
	return v
}

func compact(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
