package state_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest/internal/state"
	"github.com/bowline-dev/bowline/internal/object"
)

type fields = map[string]any

// run returns a state as one run leaves it; id determines the values that differ in every run.
func run(id string, change func(owner, child fields)) (state.State, state.Names) {
	uid, name := id+"-0000-uid", "child-"+id
	owner := fields{
		"apiVersion": "v1", "kind": "Owner",
		"metadata": fields{
			"name": "owner", "uid": uid, "resourceVersion": id, "generation": int64(len(id)),
			"creationTimestamp": "2000-01-01T00:00:0" + id[:1] + "Z", "managedFields": []any{id},
		},
		"status": fields{"child": name, "observedGeneration": int64(len(id)),
			"since": "2000-01-01T00:00:0" + id[:1] + "Z"},
	}
	child := fields{
		"apiVersion": "v1", "kind": "Child",
		"metadata": fields{"name": name, "generateName": "child-", "namespace": "default",
			"ownerReferences": []any{fields{"uid": uid}}},
	}
	change(owner, child)
	s := state.Resources{
		schema.GroupVersionResource{Resource: "owners"}:   {{Object: owner}},
		schema.GroupVersionResource{Resource: "children"}: {{Object: child}},
	}.State(fields{"record of " + uid: name})
	names := state.Names{
		UIDs: map[types.UID]object.Key{types.UID(uid): object.KeyOf(schema.GroupResource{Resource: "owners"}, "",
			"owner")},
		Generated: map[string]string{name: "child-*"},
	}
	return s, names
}

// compare normalizes two runs and returns their differences.
func compare(t *testing.T, change func(owner, child fields)) []string {
	t.Helper()
	normal := func(s state.State, names state.Names) state.Normal {
		before := s.Objects[0].DeepCopy()
		n, err := state.Normalise(s, names)
		if err != nil {
			t.Fatal(err)
		}
		if d := state.Diff(state.Normal{"": before.Object}, state.Normal{"": s.Objects[0].Object}); d != nil {
			t.Errorf("normalising changed the state: %q", d)
		}
		return n
	}
	return state.Diff(normal(run("1", func(fields, fields) {})), normal(run("22", change)))
}

func TestWhatDiffersInEveryRunIsNoDifference(t *testing.T) {
	t.Parallel()
	if d := compare(t, func(fields, fields) {}); d != nil {
		t.Errorf("differences: %q", d)
	}
}

func TestWhatDiffersIsNamedByObjectAndField(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		change func(owner, child fields)
		want   []string
	}{
		{func(owner, _ fields) {
			owner["status"].(fields)["child"] = nil
		}, []string{`Owner owner: status.child is absent, want "{child-*}"`}},
		{func(owner, _ fields) { owner["status"].(fields)["observedGeneration"] = int64(1) },
			[]string{`Owner owner: status.observedGeneration is 1, want "the generation"`}},
		{func(_, child fields) {
			child["data"] = []any{"x"}
		}, []string{`Child default/child-* (1): data is ["x"], want absent`}},
		{func(_, child fields) { child["metadata"].(fields)["namespace"] = "other" },
			[]string{"Child default/child-* (1): is missing", "Child other/child-* (1): is unexpected"}},
		{func(_, child fields) { child["metadata"].(fields)["ownerReferences"] = []any{} },
			[]string{`Child default/child-* (1): metadata.ownerReferences is [], want [{"uid":"{uid of owners owner}"}]`}},
	} {
		if got := compare(t, test.change); !slices.Equal(got, test.want) {
			t.Errorf("differences are %q, want %q", got, test.want)
		}
	}
}

// Two groups may have a kind with the same name.
func TestKindsOfTwoGroupsAreTwo(t *testing.T) {
	t.Parallel()
	both := state.Resources{}
	for group, version := range map[string]string{"": "v1", "example.com": "example.com/v1"} {
		o := &unstructured.Unstructured{Object: fields{"apiVersion": version, "kind": "Secret",
			"metadata": fields{"name": "a", "namespace": "b"}}}
		both[schema.GroupVersionResource{Group: group, Version: "v1", Resource: "secrets"}] = []state.Object{o}
	}
	n, err := state.Normalise(both.State(nil), state.Names{})
	if err != nil || n["Secret b/a"] == nil || n["Secret.example.com b/a"] == nil {
		t.Errorf("there is %v, %v", n, err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	s, _ := run("1", func(fields, fields) {})
	if s.Find("Owner", "", "owner") == nil ||
		s.Find("Child", "default", "owner") != (*unstructured.Unstructured)(nil) || len(s.Kind("Child")) != 1 {
		t.Errorf("wrong objects are found in %v", s.Objects)
	}
}
