package flowcontrol

import (
	"bytes"
	"encoding/json"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestBootstrapMatchesKubernetes compares the objects with those of a kube-apiserver after its start.
func TestBootstrapMatchesKubernetes(t *testing.T) {
	t.Parallel()
	kinds := map[string]kind.Kind{"FlowSchema": schemaKind(object.NewCache(1)),
		"PriorityLevelConfiguration": levelKind(object.NewCache(1))}
	got := map[string]map[string]any{}
	for _, i := range Initial() {
		name := i.Object.GetObjectKind().GroupVersionKind().Kind
		if got[name] == nil {
			got[name] = map[string]any{}
		}
		data, err := json.Marshal(i.Object)
		if err != nil {
			t.Fatal(err)
		}
		got[name][i.Object.GetName()] = declaredBy(t, data)
		obj := copyOf(i.Object)
		kinds[name].Prepare(obj, nil, "")
		if errs := kinds[name].Validate(t.Context(), obj, nil, ""); len(errs) > 0 {
			t.Errorf("%s %s: %v", name, obj.GetName(), errs)
		}
		if i.Correct(obj) {
			t.Errorf("%s %s is corrected after its create", name, obj.GetName())
		}
	}
	for name, file := range map[string]string{"FlowSchema": "flowschemas",
		"PriorityLevelConfiguration": "prioritylevelconfigurations"} {
		want := map[string]any{}
		for line := range bytes.Lines(golden.File(t, "facts/start-flowcontrol.apiserver.k8s.io_v1-"+file+".jsonl")) {
			obj := declaredBy(t, line)
			want[obj["metadata"].(map[string]any)["name"].(string)] = obj
		}
		if diff := gocmp.Diff(want, got[name]); diff != "" || len(want) == 0 {
			t.Errorf("%s (-recorded +ours):\n%s", file, diff)
		}
	}
}

// declaredBy returns the name, annotations and spec of an object.
func declaredBy(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := json.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	delete(obj, "kind")
	delete(obj, "apiVersion")
	delete(obj, "status")
	return obj
}

func TestBootstrapReturnsCopies(t *testing.T) {
	t.Parallel()
	levels, schemas := Mandatory()
	levels[0].Spec.Type, schemas[0].Spec.Rules[0].Subjects[0].Kind = "x", "x"
	again, againSchemas := Mandatory()
	if again[0].Spec.Type == "x" || againSchemas[0].Spec.Rules[0].Subjects[0].Kind == "x" {
		t.Error("a change of a copy is visible in the next one")
	}
}

// TestCorrections checks the strategies of pkg/registry/flowcontrol/ensurer.
func TestCorrections(t *testing.T) {
	t.Parallel()
	const key = flowcontrolv1.AutoUpdateAnnotationKey
	for name, c := range map[string]struct {
		object     string
		generation int64
		annotation string // "-" for none
		changed    bool   // the spec of the stored object
		corrected  bool
		restored   bool
		follows    string // the annotation afterwards
	}{
		"a mandatory object":                        {"catch-all", 2, "true", true, true, true, "true"},
		"a mandatory object that shall not follow":  {"catch-all", 2, "false", false, true, true, "true"},
		"a suggested object":                        {"system", 2, "true", true, true, true, "true"},
		"a suggested object that shall not follow":  {"system", 2, "false", true, false, false, "false"},
		"a suggested object that a user changed":    {"system", 2, "-", true, true, false, "false"},
		"a suggested object without an annotation":  {"system", 1, "-", true, true, true, "true"},
		"a suggested object with a bad annotation":  {"system", 1, "maybe", false, true, true, "true"},
		"a suggested object that is as it shall be": {"system", 3, "true", false, false, true, "true"},
	} {
		for _, i := range Initial() {
			l, ok := i.Object.(*level)
			if !ok || l.Name != c.object {
				continue
			}
			stored := l.DeepCopy()
			stored.Generation, stored.Annotations = c.generation, map[string]string{key: c.annotation}
			if c.annotation == "-" {
				stored.Annotations = nil
			}
			if c.changed {
				stored.Spec.Limited.BorrowingLimitPercent = new(int32(1))
			}
			if got := i.Correct(stored); got != c.corrected {
				t.Errorf("%s: corrected is %t", name, got)
			}
			if restored := stored.Spec.Limited.BorrowingLimitPercent == nil; restored != c.restored {
				t.Errorf("%s: the spec is restored: %t", name, restored)
			}
			if got := stored.Annotations[key]; got != c.follows {
				t.Errorf("%s: the annotation is %q", name, got)
			}
		}
	}
	for _, i := range Initial() {
		switch obj := i.Object.(type) {
		case *level:
			if obj.Name != "exempt" {
				continue
			}
			stored := obj.DeepCopy()
			stored.Spec.Exempt.NominalConcurrencyShares = new(int32(7))
			if i.Correct(stored) {
				t.Error("the shares of the exempt level are corrected")
			}
			stored.Spec.Exempt = nil
			if !i.Correct(stored) || stored.Spec.Exempt == nil {
				t.Error("the exempt level remains without its shares")
			}
		case *schema:
			stored := obj.DeepCopy()
			stored.Spec.MatchingPrecedence++
			if !i.Correct(stored) || stored.Spec.MatchingPrecedence != obj.Spec.MatchingPrecedence {
				t.Errorf("the schema %s is not corrected", obj.Name)
			}
		}
	}
}
