package stored

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Pending reports whether a deleted object has time left.
func Pending(obj kind.Object) bool {
	left := obj.GetDeletionGracePeriodSeconds()
	return obj.GetDeletionTimestamp() != nil && left != nil && *left > 0
}

// MarkDeleted sets the deletion time. If obj is already being deleted, its time can only become earlier. byKind reports
// that the kind itself delays the removal, as namespaces do; then there is no grace period.
func MarkDeleted(obj kind.Object, grace int64, byKind bool) {
	at := Now()
	was, left := obj.GetDeletionTimestamp(), obj.GetDeletionGracePeriodSeconds()
	switch {
	case was == nil:
		if obj.GetGeneration() > 0 {
			obj.SetGeneration(obj.GetGeneration() + 1)
		}
		at = metav1.NewTime(at.Add(time.Duration(grace) * time.Second))
	case Pending(obj):
		sooner := metav1.NewTime(was.Add(time.Duration(grace-*left) * time.Second))
		if sooner.Before(&at) { // the time has passed, but the agent that ends the object must still see the change
			grace = min(grace, 1)
		} else {
			at = sooner
		}
	case was.Before(&at):
		at = *was
	}
	obj.SetDeletionTimestamp(&at)
	if !byKind {
		obj.SetDeletionGracePeriodSeconds(&grace)
	}
}
