package kind

import (
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
)

// Initializers is the content of metadata.initializers, as in Kubernetes 1.7 to 1.15: the initializers that
// must act on a new object before other clients see it. An object without this field is initialized.
type Initializers struct {
	// Pending lists the remaining initializers. They act in this order, and each removes its entry when it is
	// done.
	Pending []Initializer `json:"pending" patchStrategy:"merge" patchMergeKey:"name"`
	// Result is set by an initializer that fails: a Status of Failure, which deletes the object.
	Result *metav1.Status `json:"result,omitempty"`
}

// Initializer is an entry of Pending.
type Initializer struct {
	// Name has at least two dots, as in envoy.initializer.kubernetes.io.
	Name string `json:"name"`
}

// Names returns the names of the pending initializers, in order. i may be nil.
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

// IsEmpty reports whether no initializer is pending and none failed. i may be nil.
func (i *Initializers) IsEmpty() bool { return i == nil || len(i.Pending) == 0 && i.Result == nil }

// initializersAnnotation is the annotation in which a Go struct holds its initializers as JSON, because today's
// ObjectMeta has no field for them. It exists only in memory: encoders write the field instead, and decoders drop an
// annotation of this name that a client sends. An unstructured object has the field itself.
const initializersAnnotation = "bowline.dev/initializers"

// InitializersOf returns the initializers of an object, or nil if it has none. It returns nil for a custom
// resource whose field has an invalid value; see CheckInitializers.
func InitializersOf(obj metav1.Object) *Initializers {
	text, exists := initializersJSON(obj)
	if !exists {
		return nil
	}
	read, _ := parseInitializers(text)
	return read
}

// HasInitializers reports whether an object has the field, even if it is null or empty. A stored object has
// it while it is not initialized.
func HasInitializers(obj metav1.Object) bool {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		meta, _ := u.Object["metadata"].(map[string]any)
		_, exists := meta["initializers"]
		return exists
	}
	_, exists := obj.GetAnnotations()[initializersAnnotation]
	return exists
}

func initializersJSON(obj metav1.Object) (text []byte, exists bool) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		value, exists, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "initializers")
		if !exists {
			return nil, false
		}
		text, err := json.Marshal(value)
		return text, err == nil
	}
	carried, exists := obj.GetAnnotations()[initializersAnnotation]
	if !exists {
		return nil, false
	}
	return []byte(carried), true
}

// parseInitializers decodes the JSON of the field. It returns nil for null.
func parseInitializers(text []byte) (*Initializers, error) {
	var read *Initializers
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &read); err != nil {
		return nil, fmt.Errorf("metadata.initializers: %w", err)
	}
	return read, nil
}

// CheckInitializers returns an error if the field of a custom resource cannot be decoded.
func CheckInitializers(obj metav1.Object) error {
	text, exists := initializersJSON(obj)
	if !exists {
		return nil
	}
	_, err := parseInitializers(text)
	return err
}

// SetInitializers sets the field of an object; nil removes it.
func SetInitializers(obj metav1.Object, to *Initializers) {
	if to == nil {
		setInitializersJSON(obj, nil)
		return
	}
	text, _ := json.Marshal(to) // a struct of texts always marshals
	setInitializersJSON(obj, text)
}

// WithoutInitializers removes the field until back is called.
func WithoutInitializers(obj metav1.Object) (back func()) {
	text, _ := initializersJSON(obj)
	setInitializersJSON(obj, nil)
	return func() { setInitializersJSON(obj, text) }
}

// setInitializersJSON sets the field to JSON, or removes it if text is nil. Changed maps are copied, because
// other objects may share them.
func setInitializersJSON(obj metav1.Object, text []byte) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		setInMap(u, text)
		return
	}
	annotations := maps.Clone(obj.GetAnnotations())
	delete(annotations, initializersAnnotation)
	if text != nil && annotations == nil {
		annotations = map[string]string{}
	}
	if text != nil {
		annotations[initializersAnnotation] = string(text)
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	obj.SetAnnotations(annotations)
}

func setInMap(u *unstructured.Unstructured, text []byte) {
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
