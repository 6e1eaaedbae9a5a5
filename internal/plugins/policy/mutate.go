package policy

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	mutationtypes "k8s.io/apiserver/pkg/cel/mutation"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/expression"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/patch"
)

// byteCost is the cost of encoding, changing and decoding a byte of an object, in units of CEL's cost. Each mutation
// costs that beside its expression.
const byteCost = 1

// mutate evaluates a mutation and applies it to the object of the write. An error that is a Status rejects the write;
// for another one, the failure policy decides.
func (w *mutated) mutate(e *evaluation, m *mutation) error {
	if m.Error != nil {
		return m.Error
	}
	value, failure, err := e.run(&m.CompilationResult)
	if err = errors.Join(err, failure); err != nil {
		return err
	}
	s := e.subject
	before, err := w.charge(e, s)
	if err != nil {
		return err
	}
	var after []byte
	if m.patchType == admissionregistrationv1.PatchTypeApplyConfiguration {
		after, err = w.merge(s, value)
	} else {
		after, err = steps(before, value)
	}
	if err != nil || after == nil {
		return err
	}
	if len(after) > maxDocument {
		return fmt.Errorf("the object has %d bytes after the mutation, more than %d", len(after), maxDocument)
	}
	strict := m.patchType == admissionregistrationv1.PatchTypeJSONPatch
	if err := s.of.Replace(after, strict); err != nil {
		return apierrors.NewInternalError(err)
	}
	clear(w.subjects) // they show the object as it was
	w.json = nil
	return nil
}

// charge charges a mutation of the object of a subject, and returns the JSON of the object. The mutations that
// change nothing share the JSON.
func (w *mutated) charge(e *evaluation, s *subject) ([]byte, error) {
	if w.json[s.of.Version] == nil {
		text, err := kind.Marshal(object.JSON, s.of.Now)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		if w.json == nil {
			w.json = map[schema.GroupVersion][]byte{}
		}
		w.json[s.of.Version] = text
	}
	text := w.json[s.of.Version]
	expression.Charge(e.ctx, uint64(len(text))*byteCost)
	return text, nil
}

// steps applies the JSON Patch that an expression has returned to the JSON of an object. It returns nil if a test in
// the patch fails, so that the object remains unchanged.
func steps(before []byte, value ref.Val) ([]byte, error) {
	list, ok := value.(traits.Lister)
	if !ok {
		return nil, errors.New("type mismatch: JSONPatchType.expression should evaluate to array")
	}
	var all jsonpatch.Patch
	c := newConverter(maxDocument)
	c.asPatch = true
	for it := list.Iterator(); it.HasNext() == types.True; {
		item, ok := it.Next().(*mutationtypes.JSONPatchVal)
		if !ok {
			return nil, errors.New("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")
		}
		step, err := c.step(item)
		if err != nil {
			return nil, err
		}
		all = append(all, step)
	}
	after, err := patch.Steps(all, before)
	if errors.Is(err, jsonpatch.ErrTestFailed) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("JSON Patch: %w", err)
	}
	return after, nil
}

// step converts an operation.
func (c *converter) step(v *mutationtypes.JSONPatchVal) (jsonpatch.Operation, error) {
	step := jsonpatch.Operation{}
	set := func(member string, value any) error {
		text, err := json.Marshal(value)
		step[member] = (*json.RawMessage)(&text)
		return err
	}
	if err := c.use(valueSize + len(v.Op) + len(v.Path) + len(v.From)); err != nil {
		return nil, err
	}
	err := errors.Join(set("op", v.Op), set("path", v.Path))
	if v.From != "" {
		err = errors.Join(err, set("from", v.From))
	}
	if v.Val == nil || err != nil {
		return step, err
	}
	var path []string
	if o, ok := v.Val.(*objectValue); ok {
		path = []string{o.of.TypeName()}
	}
	value, err := c.convert(v.Val, path)
	if err != nil {
		return nil, err
	}
	return step, set("value", value)
}
