package history

import (
	"maps"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
)

// Workload is the set whose templates are recorded.
type Workload struct {
	ownership.Owner
	Template *corev1.PodTemplateSpec
	// Collisions is the collision count in the workload's status; nil means 0.
	Collisions *int32
	// Hash returns the suffix of the name of a template's revision for a collision count.
	Hash func(data []byte, collisions *int32) string
	// Label is the label of a revision that holds its hash.
	Label string
}

// Revisions is the history of a workload.
type Revisions struct {
	// Current is the revision of the workload's template, which either exists or is created by Actions. Old
	// are the others, the oldest first.
	Current *appsv1.ControllerRevision
	Old     []*appsv1.ControllerRevision
	// Duplicates are the revisions in Old that have the template of Current, as when two controllers recorded
	// it under different names.
	Duplicates []*appsv1.ControllerRevision
	// Collisions is the workload's collision count including newly found collisions.
	Collisions *int32
	// Actions adopts and releases revisions, and creates the revision of a new template or renumbers that of
	// a restored one.
	Actions []action.Action
}

// Resolve finds a workload's history in observed, the revisions that it controls and those without a controller.
// byName returns a revision of the namespace, or nil. The result of byName may be newer than
// observed.
func Resolve(w Workload, observed []*appsv1.ControllerRevision,
	byName func(string) *appsv1.ControllerRevision) (Revisions, error) {
	data, err := EncodeTemplate(w.Template)
	if err != nil {
		return Revisions{}, err
	}
	claims := ownership.Claim(w.Owner, observed)
	revisions := Revisions{Old: append(claims.Owned, claims.Adopted...), Collisions: w.Collisions,
		Actions: claims.Actions(w.Owner, Resource)}
	slices.SortFunc(revisions.Old, byNumber)
	var last *appsv1.ControllerRevision
	for _, r := range revisions.Old {
		last = r
		if hasTemplate(r, w.Template, data) {
			if revisions.Current != nil {
				revisions.Duplicates = append(revisions.Duplicates, revisions.Current)
			}
			revisions.Current = r
		}
	}
	switch {
	case last == nil:
		revisions.create(w, data, 1, byName)
	case revisions.Current == nil:
		revisions.create(w, data, following(last.Revision), byName)
	default:
		revisions.Old = slices.DeleteFunc(revisions.Old, func(r *appsv1.ControllerRevision) bool {
			return r == revisions.Current
		})
	}
	if last != nil && last != revisions.Current && revisions.Current.UID != "" &&
		revisions.Current.Revision < following(last.Revision) {
		// An old template was restored.
		revisions.Current = revisions.Current.DeepCopy()
		revisions.Current.Revision = following(last.Revision)
		revisions.Actions = append(revisions.Actions,
			action.Update[*appsv1.ControllerRevision]{Resource: Resource, Object: revisions.Current})
	}
	return revisions, nil
}

// create sets Current to a new revision of the template. Its name is a hash of the template, so concurrent
// controllers create the same revision.
func (l *Revisions) create(w Workload, data []byte, number int64, byName func(string) *appsv1.ControllerRevision) {
	owner := w.Object
	hash := w.Hash(data, l.Collisions)
	for existing := byName(revisionName(owner.GetName(),
		hash)); existing != nil; existing = byName(revisionName(owner.GetName(),
		hash)) {
		if metav1.IsControlledBy(existing, owner) && hasTemplate(existing, w.Template, data) {
			l.Current = existing
			return
		}
		// the revision of the name has another template with the same hash, or another owner
		l.Collisions = increment(l.Collisions)
		hash = w.Hash(data, l.Collisions)
	}
	labels := map[string]string{}
	maps.Copy(labels, w.Template.Labels)
	labels[w.Label] = hash
	l.Current = &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: revisionName(owner.GetName(), hash), Namespace: owner.GetNamespace(), Labels: labels,
			Annotations:     maps.Clone(owner.GetAnnotations()),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, w.Kind)},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: number,
	}
	l.Actions = append(l.Actions, action.Create[*appsv1.ControllerRevision]{Resource: Resource, Object: l.Current})
}

// following returns the number after that of a revision. A client may have written the largest number.
func following(number int64) int64 { return min(number, math.MaxInt64-1) + 1 }

func increment(collisions *int32) *int32 {
	count := int32(1)
	if collisions != nil {
		count = (*collisions + 1) & math.MaxInt32 // after the largest number comes 0
	}
	return &count
}

// maxOwnerName is how many bytes of a workload's name go into the names of its revisions, which leaves room
// for a hash.
const maxOwnerName = 223

func revisionName(owner, hash string) string {
	return owner[:min(len(owner), maxOwnerName)] + "-" + hash
}
