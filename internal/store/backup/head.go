package backup

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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

// maxRevision is far above the revisions of all planes, and far below the largest number that clients can read.
const maxRevision = 1 << 60

// check returns an error if no server can have written the head.
func (h *Head) check() error {
	switch {
	case h.Objects < 0:
		return fmt.Errorf("it has %d objects", h.Objects)
	case h.Revision > maxRevision || h.Oldest > h.Revision+1:
		return fmt.Errorf("it has the revisions from %d to %d", h.Oldest, h.Revision)
	case h.Plane != "" && !object.ValidUID(types.UID(h.Plane)):
		return fmt.Errorf("%q is not the identity of a plane", h.Plane)
	}
	return nil
}
