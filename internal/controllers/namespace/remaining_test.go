package namespace

import (
	"errors"
	"testing"
)

// The messages match those of Kubernetes, which scripts compare.
func TestFailureMessagesMatchKubernetes(t *testing.T) {
	t.Parallel()
	left := remaining{discovery: []error{errors.New("b"), errors.New("a")},
		deletion: []error{errors.New("d"), errors.New("c")}}
	conditions := left.conditions()
	for i, want := range map[int]string{
		0: "Discovery failed for some groups, 2 failing: a, b",
		2: "Failed to delete all resource types, 2 remaining: c, d",
	} {
		if got := conditions[i].Message; got != want {
			t.Errorf("condition %s: got message %q, want %q", conditions[i].Type, got, want)
		}
	}
}
