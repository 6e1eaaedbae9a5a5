package kind

import (
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
)

// Initializers are what metadata.initializers holds, as Kubernetes had it from 1.7 to 1.15: who has still to act on a new object
// before others see it. An object without them is initialized.
type Initializers struct {
	// Pending act one after the other; each takes its name away when it is done.
	Pending []Initializer `json:"pending" patchStrategy:"merge" patchMergeKey:"name"`
	// Result is set by an initializer that gives the object up: a Failure, which deletes it.
	Result *metav1.Status `json:"result,omitempty"`
}

// Initializer is one who has still to act.
type Initializer struct {
	// Name has at least two dots, as in envoy.initializer.kubernetes.io.
	Name string `json:"name"`
}

// Names of those who have still to act, in order.
func (i *Initializers) Names() []string {
	if i == nil {
		return nil
	}
	names := make([]string, len(i.Pending))
	for n, p := range i.Pending {
		names[n] = p.Name
	}
	return names
}

// IsEmpty says that nobody has to act, and nobody gave up.
func (i *Initializers) IsEmpty() bool { return i == nil || len(i.Pending) == 0 && i.Result == nil }

// carrier is the annotation in which a Go struct carries its initializers, as JSON: today's ObjectMeta has no field for them.
// It never leaves the process: encodings have the field, and what a client sends under this name is dropped. An object that is
// decoded JSON has the field itself.
const carrier = "bowline.dev/initializers"

// InitializersOf are those of an object; nil for none. A custom resource of which they cannot be read has none.
func InitializersOf(obj metav1.Object) *Initializers {
	text, said := initializersText(obj)
	if !said {
		return nil
	}
	read, _ := readInitializers(text)
	return read
}

// SaysInitializers says whether an object has the field, be it null or empty. A stored one has it when it is uninitialized.
func SaysInitializers(obj metav1.Object) bool {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		meta, _ := u.Object["metadata"].(map[string]any)
		_, said := meta["initializers"]
		return said
	}
	_, said := obj.GetAnnotations()[carrier]
	return said
}

func initializersText(obj metav1.Object) (text []byte, said bool) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		value, said, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "initializers")
		if !said {
			return nil, false
		}
		text, err := json.Marshal(value)
		return text, err == nil
	}
	carried, said := obj.GetAnnotations()[carrier]
	if !said {
		return nil, false
	}
	return []byte(carried), true
}

// readInitializers is nil for null.
func readInitializers(text []byte) (*Initializers, error) {
	var read *Initializers
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &read); err != nil {
		return nil, fmt.Errorf("metadata.initializers: %w", err)
	}
	return read, nil
}

// CheckInitializers says what keeps those of a custom resource from being read, or nil.
func CheckInitializers(obj metav1.Object) error {
	text, said := initializersText(obj)
	if !said {
		return nil
	}
	_, err := readInitializers(text)
	return err
}

// SetInitializers changes those of an object; nil leaves it without the field.
func SetInitializers(obj metav1.Object, to *Initializers) {
	if to == nil {
		putInitializers(obj, nil)
		return
	}
	text, _ := json.Marshal(to) // a struct of texts always marshals
	putInitializers(obj, text)
}

// WithoutInitializers takes the field away for as long as others look at an object, until back is called.
func WithoutInitializers(obj metav1.Object) (back func()) {
	text, _ := initializersText(obj)
	putInitializers(obj, nil)
	return func() { putInitializers(obj, text) }
}

// putInitializers sets the field to a text, or takes it away when that is nil. Maps that the object may share stay as they are.
func putInitializers(obj metav1.Object, text []byte) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		putInMap(u, text)
		return
	}
	annotations := maps.Clone(obj.GetAnnotations())
	delete(annotations, carrier)
	if text != nil && annotations == nil {
		annotations = map[string]string{}
	}
	if text != nil {
		annotations[carrier] = string(text)
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	obj.SetAnnotations(annotations)
}

func putInMap(u *unstructured.Unstructured, text []byte) {
	meta, _ := u.Object["metadata"].(map[string]any)
	if meta == nil {
		return
	}
	meta = maps.Clone(meta)
	delete(meta, "initializers")
	var value any
	if text != nil && kjson.UnmarshalCaseSensitivePreserveInts(text, &value) == nil {
		meta["initializers"] = value
	}
	u.Object["metadata"] = meta
}
