package podlimit

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Conditions describes the conditions of a kind's status.
type Conditions[C any] struct {
	// Is reports whether a condition has the type ConditionType and, unless it is empty, the message.
	Is func(c C, message string) bool
	// New returns a condition of the type ConditionType with the status True and the reason Reason.
	New func(now metav1.Time, message string) C
}

// Update returns the conditions with one that reports the refusal, or with none of that type if refusal is nil. changed
// is set if the refusal was not reported before.
func (k Conditions[C]) Update(all []C, refusal *Refusal, now time.Time) (updated []C, changed bool) {
	if refusal != nil && slices.ContainsFunc(all, func(c C) bool { return k.Is(c, refusal.Error()) }) {
		return all, false
	}
	if refusal == nil && !slices.ContainsFunc(all, func(c C) bool { return k.Is(c, "") }) {
		return all, false
	}
	updated = slices.DeleteFunc(slices.Clone(all), func(c C) bool { return k.Is(c, "") })
	if refusal != nil {
		updated = append(updated, k.New(metav1.NewTime(now), refusal.Error()))
	}
	return updated, refusal != nil
}

// Event returns the event that reports a refusal on the object that lacks pods.
func (r *Refusal) Event(obj client.Object) action.Event {
	return action.Event{Object: obj, Warning: true, Reason: Reason, Message: "Error creating: " + r.Error()}
}
