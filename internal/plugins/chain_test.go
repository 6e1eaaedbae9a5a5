package plugins_test

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/plugins"
)

// remember is a plugin that remembers its name, and fails if it finds something else.
type remember struct {
	admission.Plugin
	name string
}

func (r remember) Name() string { return r.name }

func (r remember) Handles(admission.Operation, schema.GroupResource, string) bool { return true }

func (r remember) Admit(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	found := a.Remembered(r.name)
	if a.Round == 0 && found != nil || a.Round == 1 && found != r.name {
		return fmt.Errorf("%s found %v in round %d", r.name, found, a.Round)
	}
	a.Remember(r.name, r.name)
	a.Reinvoke = true
	return nil
}

// TestMemory checks that each plugin finds its own memory in the second round.
func TestMemory(t *testing.T) {
	t.Parallel()
	chain := plugins.NewChain(nil, remember{name: "a"}, remember{name: "b"})
	a := &admission.Attributes{}
	if err := chain.Admit(t.Context(), a); err != nil || a.Round != 1 {
		t.Errorf("got %v in round %d", err, a.Round)
	}
}
