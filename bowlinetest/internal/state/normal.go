package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest/internal/fault"
	"github.com/bowline-dev/bowline/object"
)

// Normal is a state by the names of its objects, with nothing in it that differs in every run.
type Normal map[string]any

// outside is the name under which a Normal has State.Outside.
const outside = "outside"

// Names are what is called otherwise in every run.
type Names struct {
	// UIDs are all that there ever were, by whose they are.
	UIDs map[types.UID]object.Key
	// Generated are the names that the server has made up, by what they were made from.
	Generated map[string]string
}

// Normalise makes a state comparable. It does not change the state.
//
//   - resourceVersion, generation, managedFields, uid and the annotation that conflicts are made with go; times become
//     "a time"; the uid of an object becomes its name, wherever it stands; an observedGeneration says whether it is the
//     generation;
//   - an object whose name was generated is called by what it was generated from, and counted; so it is wherever its name
//     stands.
func Normalise(s State, names Names) (Normal, error) {
	live := map[string]bool{}
	for _, o := range s.Objects {
		live[string(o.GetUID())], live[o.GetName()] = true, true
	}
	var pairs []string
	add := func(id, text string) {
		if !live[id] {
			text += ", which is gone"
		}
		pairs = append(pairs, id, "{"+text+"}")
	}
	for uid, key := range names.UIDs {
		name := key.Name()
		if prefix, ok := names.Generated[name]; ok {
			name = prefix
		}
		add(string(uid), "uid of "+key.GroupResource().Resource+" "+name)
	}
	for name, prefix := range names.Generated {
		add(name, prefix)
	}
	n := &normaliser{strings.NewReplacer(pairs...)}
	return n.all(s)
}

type normaliser struct {
	names *strings.Replacer
}

func (n *normaliser) all(s State) (Normal, error) {
	normal := Normal{}
	generated := map[string][]any{}
	for _, o := range s.Objects {
		o := o.DeepCopy()
		if prefix := o.GetGenerateName(); prefix != "" && o.GetName() != prefix {
			o.SetName(prefix + "*")
			called := name(o)
			generated[called] = append(generated[called], n.object(o))
			continue
		}
		normal[n.text(name(o))] = n.object(o)
	}
	for called, objects := range generated {
		slices.SortFunc(objects, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for i, o := range objects {
			normal[fmt.Sprintf("%s (%d)", n.text(called), i+1)] = o
		}
	}
	if s.Outside == nil {
		return normal, nil
	}
	data, err := json.Marshal(s.Outside)
	if err != nil {
		return nil, fmt.Errorf("what the scenario's Snapshot returned cannot be written as JSON: %w", err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, err
	}
	normal[outside] = n.value(value)
	return normal, nil
}

// object normalises one, which it changes.
func (n *normaliser) object(o *unstructured.Unstructured) any {
	generation := o.Object["metadata"].(map[string]any)["generation"]
	o.Object = relative(o.Object, fmt.Sprint(generation)).(map[string]any)
	meta := o.Object["metadata"].(map[string]any)
	for _, field := range []string{"resourceVersion", "generation", "managedFields", "uid", "selfLink", "creationTimestamp"} {
		delete(meta, field)
	}
	if annotations, ok := meta["annotations"].(map[string]any); ok {
		delete(annotations, fault.Touched)
		if len(annotations) == 0 {
			delete(meta, "annotations")
		}
	}
	return n.value(o.Object)
}

// relative says of each observedGeneration whether it is the generation.
func relative(v any, generation string) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if key == "observedGeneration" && fmt.Sprint(value) == generation {
				v[key] = "the generation"
				continue
			}
			v[key] = relative(value, generation)
		}
	case []any:
		for i := range v {
			v[i] = relative(v[i], generation)
		}
	}
	return v
}

// value is a copy without uids and times.
func (n *normaliser) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[n.text(key)] = n.value(value)
		}
		return m
	case []any:
		s := make([]any, len(v))
		for i := range v {
			s[i] = n.value(v[i])
		}
		return s
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return "a time"
		}
		return n.text(v)
	}
	return v
}

func (n *normaliser) text(s string) string { return n.names.Replace(s) }
