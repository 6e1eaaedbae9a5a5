package ownership_test

import (
	"encoding/json"
	"testing"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/patch/ownership"
)

// TestRepeatedApplyChangesNothing checks that an apply is recognized by its text, manager and revision.
func TestRepeatedApplyChangesNothing(t *testing.T) {
	t.Parallel()
	o := ownership.New(kinds()["Deployment"])
	d := deployment(t)
	doc := document(t, d)
	live := apply(t, o, d.GroupVersionKind(), nil, doc)
	live.SetUID("u")
	live.SetResourceVersion("5")
	text, err := json.Marshal(doc.Object)
	if err != nil {
		t.Fatal(err)
	}
	again := func(live kind.Object, manager string) bool {
		out, err := o.Apply("apps/v1", "", live, doc.DeepCopy(), text, manager, false)
		if err != nil {
			t.Fatal(err)
		}
		return out == live
	}
	for range 2 {
		if !again(live, "one") {
			t.Error("applying the current state changes something")
		}
	}
	if again(live, "two") {
		t.Error("an apply of another manager is treated as repeated")
	}
	changed := live.DeepCopyObject().(kind.Object)
	changed.SetLabels(map[string]string{"app": "other"})
	if changed.SetResourceVersion("6"); again(changed, "one") {
		t.Error("an apply to a later state is treated as repeated")
	}
}
