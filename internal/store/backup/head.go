package backup

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// HeadOf returns the head for a backup of a store's snapshot; program is the version of bowline that writes
// it.
func HeadOf(s *store.Store, snapshot *store.Snapshot, program string) Head {
	head := Head{Oldest: s.Oldest(), Time: time.Now().UTC(), Program: program}
	if o := snapshot.Get(object.KeyOf(schema.GroupResource{Resource: "namespaces"}, "", "kube-system")); o != nil {
		head.Plane = string(o.UID)
	}
	for _, damage := range s.Damaged() {
		head.Damaged = append(head.Damaged, damage.Key)
	}
	return head
}
