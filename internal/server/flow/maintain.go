package flow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/flowcontrol"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// create commits the initial objects that do not exist, all at once, from their prepared encodings: a start need not
// take the time to decode, validate and encode them. It reports whether some existed.
func (c *Controller) create(ctx context.Context) (existed bool, err error) {
	var changes []store.Change
	now := stored.Now().UTC().Format(timeLayout)
	for template := range flowcontrol.Templates() {
		resource := schemas
		if template.Kind == "PriorityLevelConfiguration" {
			resource = levels
		}
		key := object.KeyOf(resource, "", template.Name)
		if c.o.Store.Get(key) != nil || c.o.Store.Damage(key) != nil {
			existed = true
			continue
		}
		k, _ := c.o.Kinds.Stored(resource)
		uid := uuid.NewString()
		data := bytes.Clone(template.JSON)
		overwrite(data, flowcontrol.TemplateUID, uid)
		overwrite(data, flowcontrol.TemplateTime, now)
		e, err := object.NewEncoding(object.Form{APIVersion: flowcontrolv1.SchemeGroupVersion.String()}, data)
		if err != nil {
			return existed, err
		}
		changes = append(changes, store.Change{Key: key, Expect: store.Absent(), Quota: store.Exempt,
			Object: object.New(object.Header{Key: key, UID: types.UID(uid)}, k, e)})
	}
	if len(changes) == 0 {
		return existed, nil
	}
	revision, err := c.o.Store.Commit(ctx, changes...)
	if store.IsConflict(err) { // another server of the store has created them
		return true, nil
	}
	if err == nil {
		c.mu.Lock()
		c.created = revision
		c.mu.Unlock()
	}
	return existed, err
}

// timeLayout is that of the times in objects.
const timeLayout = "2006-01-02T15:04:05Z"

// overwrite replaces all occurrences of a text by one of the same length.
func overwrite(data []byte, old, by string) {
	for {
		at := bytes.Index(data, []byte(old))
		if at < 0 {
			return
		}
		data = data[at+copy(data[at:], by):]
	}
}

// maintain corrects the objects that the server maintains, as kube-apiserver does: it restores the mandatory and the
// suggested objects, deletes those that an earlier release suggested, and sets the condition Dangling of all schemas.
// It continues after errors. A server without bootstrap only sets the condition.
func (c *Controller) maintain(ctx context.Context, found *objects) error {
	var errs []error
	if c.bootstrap {
		errs = append(errs, c.restore(ctx, found))
	}
	maps.DeleteFunc(c.dangling, func(_ types.UID, written flowcontrolv1.FlowSchemaCondition) bool {
		return time.Since(written.LastTransitionTime.Time) >= retryAfter
	})
	good := map[string]bool{}
	for _, l := range found.levels {
		_, good[l.Name] = levelConfig(l)
	}
	for _, s := range found.schemas {
		errs = append(errs, c.setDangling(ctx, s, good))
	}
	return errors.Join(errs...)
}

// restore creates and corrects the initial objects, and deletes those of earlier releases.
func (c *Controller) restore(ctx context.Context, found *objects) error {
	_, err := c.create(ctx)
	errs := []error{err}
	wanted := map[object.Key]bool{}
	for _, i := range flowcontrol.Initial() {
		wanted[keyOf(i.Object)] = true
		i.OnlyCorrect = true // create has created it
		if _, err := c.o.Ensure(ctx, i); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", keyOf(i.Object), err))
		}
	}
	for _, l := range found.levels {
		errs = append(errs, c.removeObsolete(ctx, l, wanted))
	}
	for _, s := range found.schemas {
		errs = append(errs, c.removeObsolete(ctx, s, wanted))
	}
	return errors.Join(errs...)
}

func keyOf(obj kind.Object) object.Key {
	if _, ok := obj.(*flowcontrolv1.FlowSchema); ok {
		return object.KeyOf(schemas, "", obj.GetName())
	}
	return object.KeyOf(levels, "", obj.GetName())
}

// removeObsolete deletes an object that is annotated like a suggested one, but is none of this release.
func (c *Controller) removeObsolete(ctx context.Context, obj kind.Object, wanted map[object.Key]bool) error {
	key := keyOf(obj)
	follows, err := strconv.ParseBool(obj.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey])
	current := c.o.Store.Get(key)
	if err != nil || !follows || wanted[key] || current == nil || current.UID != obj.GetUID() ||
		len(obj.GetFinalizers()) > 0 {
		return nil
	}
	_, err = c.o.Store.Commit(ctx, store.Change{Key: key, Expect: store.At(current.Revision), Quota: store.Exempt})
	if store.IsConflict(err) {
		return nil // its change is followed by another call
	}
	return err
}

// setDangling sets the condition Dangling of a schema: whether its level is missing. It writes the same condition again
// only after retryAfter.
func (c *Controller) setDangling(ctx context.Context, s *flowcontrolv1.FlowSchema, good map[string]bool) error {
	level := s.Spec.PriorityLevelConfiguration.Name
	want := flowcontrolv1.FlowSchemaCondition{Type: flowcontrolv1.FlowSchemaConditionDangling,
		Status: flowcontrolv1.ConditionFalse, Reason: "Found", Message: fmt.Sprintf(
			"This FlowSchema references the PriorityLevelConfiguration object named %q and it exists", level)}
	if !good[level] {
		want.Status, want.Reason = flowcontrolv1.ConditionTrue, "NotFound"
		want.Message = fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q but "+
			"there is no such object", level)
	}
	same := func(is flowcontrolv1.FlowSchemaCondition) bool {
		is.LastTransitionTime = metav1.Time{}
		return is == want
	}
	if slices.ContainsFunc(s.Status.Conditions, same) {
		return nil
	}
	key := keyOf(s)
	k, _ := c.o.Kinds.Stored(schemas)
	current := c.o.Store.Get(key)
	if current == nil {
		return nil
	}
	obj, err := stored.Read(k, current)
	if err != nil {
		return err
	}
	next := obj.(*flowcontrolv1.FlowSchema)
	if next.Spec.PriorityLevelConfiguration.Name != level || slices.ContainsFunc(next.Status.Conditions, same) {
		return nil // its change is followed by another call
	}
	if same(c.dangling[current.UID]) {
		return fmt.Errorf("another writer changes the condition %s of the flow schema %s", want.Type, s.Name)
	}
	next = next.DeepCopy()
	want.LastTransitionTime = stored.Now()
	at := slices.IndexFunc(next.Status.Conditions, func(c flowcontrolv1.FlowSchemaCondition) bool {
		return c.Type == want.Type
	})
	if at < 0 {
		next.Status.Conditions = append(next.Status.Conditions, want)
	} else {
		next.Status.Conditions[at] = want
	}
	own(next, want.LastTransitionTime)
	fresh, err := stored.Encode(k, next, current.Form())
	if err != nil {
		return err
	}
	_, err = c.o.Store.Commit(ctx, store.Change{Key: key, Object: fresh, Expect: store.At(current.Revision),
		Quota: store.Reserved})
	if store.IsConflict(err) {
		return nil
	}
	if err == nil {
		c.dangling[current.UID] = want
	}
	return err
}

// The manager of the condition Dangling in Kubernetes, and the fields that it applies.
const (
	conditionManager = "api-priority-and-fairness-config-consumer-v1"
	conditionFields  = `{"f:status":{"f:conditions":{"k:{\"type\":\"Dangling\"}":{".":{},"f:lastTransitionTime":{},` +
		`"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`
)

// own records that the server manages the condition Dangling.
func own(s *flowcontrolv1.FlowSchema, now metav1.Time) {
	entries := slices.DeleteFunc(s.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == conditionManager && e.Subresource == "status"
	})
	s.ManagedFields = append(entries, metav1.ManagedFieldsEntry{Manager: conditionManager,
		Operation: metav1.ManagedFieldsOperationApply, APIVersion: flowcontrolv1.SchemeGroupVersion.String(),
		Time: &now, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(conditionFields), Subresource: "status"})
}
