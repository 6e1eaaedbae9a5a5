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
	"github.com/bowline-dev/bowline/internal/object"
)

// Normal is a state by object name, without anything that differs in every run.
type Normal map[string]any

// external is the key of State.External in a Normal.
const external = "external system"

// Names maps identifiers that differ in every run to stable ones.
type Names struct {
	// UIDs maps the UIDs of all objects that ever existed to their keys.
	UIDs map[types.UID]object.Key
	// Generated maps the names that the server generated to their prefixes.
	Generated map[string]string
}

// Normalise makes a state comparable with those of other runs. It does not change s. It returns an error if
// State.External cannot be encoded as JSON.
//
//   - It removes resourceVersion, generation, managedFields, uid, selfLink, creationTimestamp and the
//     annotation that conflicts set. Times become "a time". UIDs become the names of their objects, wherever
//     they occur. An observedGeneration that equals the generation becomes "the generation".
//   - An object with a generated name is identified by the prefix of its name and a number, also where other
//     objects mention its name.
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
	if s.External == nil {
		return normal, nil
	}
	data, err := json.Marshal(s.External)
	if err != nil {
		return nil, fmt.Errorf("encoding the result of the scenario's ExternalState: %w", err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, err
	}
	normal[external] = n.value(value)
	return normal, nil
}

// object normalizes an object in place.
func (n *normaliser) object(o *unstructured.Unstructured) any {
	generation := o.Object["metadata"].(map[string]any)["generation"]
	o.Object = relative(o.Object, fmt.Sprint(generation)).(map[string]any)
	meta := o.Object["metadata"].(map[string]any)
	for _, field := range []string{"resourceVersion", "generation", "managedFields", "uid", "selfLink",
		"creationTimestamp"} {
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

// relative replaces each observedGeneration that equals the generation.
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

// value returns a copy without UIDs, generated names and times.
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
