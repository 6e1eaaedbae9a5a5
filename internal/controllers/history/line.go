package history

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
)

// Workload is what has a history.
type Workload struct {
	adopt.Owner
	Template *corev1.PodTemplateSpec
	// Collisions is how often a name was found to be taken, as the status has it; nil is never.
	Collisions *int32
	// Hash is what the name of a template's revision ends with, after so many collisions.
	Hash func(data []byte, collisions *int32) string
	// Label is the label of a revision that has its hash.
	Label string
}

// Line is the history of a workload.
type Line struct {
	// Now is the revision of the workload's template: one that there is, or that Actions makes. Old are the others, the oldest
	// first.
	Now *appsv1.ControllerRevision
	Old []*appsv1.ControllerRevision
	// Twins are those of Old that have the template of Now, as where two controllers have written it down by different names.
	Twins []*appsv1.ControllerRevision
	// Collisions are those of the workload, with the ones that were found.
	Collisions *int32
	// Actions make it so: adoption, release, and a new revision or a new number for one whose template has come back.
	Actions []action.Action
}

// Of finds a workload's history in the revisions that it controls and those that nobody does. named is the revision of the
// namespace that has a name, or nil: it may show one that has come since the others were looked at.
func Of(w Workload, seen []*appsv1.ControllerRevision, named func(string) *appsv1.ControllerRevision) (Line, error) {
	data, err := Data(w.Template)
	if err != nil {
		return Line{}, err
	}
	claims := adopt.Claim(w.Owner, seen)
	line := Line{Old: append(claims.Owned, claims.Adopted...), Collisions: w.Collisions, Actions: claims.Actions(w.Owner, Resource)}
	slices.SortFunc(line.Old, byNumber)
	var last *appsv1.ControllerRevision
	for _, r := range line.Old {
		last = r
		if keeps(r, w.Template, data) {
			if line.Now != nil {
				line.Twins = append(line.Twins, line.Now)
			}
			line.Now = r
		}
	}
	switch {
	case last == nil:
		line.begin(w, data, 1, named)
	case line.Now == nil:
		line.begin(w, data, last.Revision+1, named)
	default:
		line.Old = slices.DeleteFunc(line.Old, func(r *appsv1.ControllerRevision) bool { return r == line.Now })
	}
	if last != nil && last != line.Now && line.Now.UID != "" && line.Now.Revision <= last.Revision {
		// One that was there before is back.
		line.Now = line.Now.DeepCopy()
		line.Now.Revision = last.Revision + 1
		line.Actions = append(line.Actions, action.Update[*appsv1.ControllerRevision]{In: Resource, Object: line.Now})
	}
	return line, nil
}

// begin makes the revision of a new template. Its name follows from the template, so that it is made once.
func (l *Line) begin(w Workload, data []byte, number int64, named func(string) *appsv1.ControllerRevision) {
	owner := w.Object
	hash := w.Hash(data, l.Collisions)
	for there := named(name(owner.GetName(), hash)); there != nil; there = named(name(owner.GetName(), hash)) {
		if metav1.IsControlledBy(there, owner) && keeps(there, w.Template, data) {
			l.Now = there
			return
		}
		l.Collisions = more(l.Collisions) // with another template that has this hash, or with somebody else's revision
		hash = w.Hash(data, l.Collisions)
	}
	labels := map[string]string{}
	maps.Copy(labels, w.Template.Labels)
	labels[w.Label] = hash
	l.Now = &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: name(owner.GetName(), hash), Namespace: owner.GetNamespace(), Labels: labels,
			Annotations:     maps.Clone(owner.GetAnnotations()),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, w.Kind)},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: number,
	}
	l.Actions = append(l.Actions, action.Create[*appsv1.ControllerRevision]{In: Resource, Object: l.Now})
}

func more(collisions *int32) *int32 {
	count := int32(1)
	if collisions != nil {
		count = *collisions + 1
	}
	return &count
}

// longestName is how much of a workload's name the names of its revisions have: there is room for a hash then.
const longestName = 223

func name(owner, hash string) string { return owner[:min(len(owner), longestName)] + "-" + hash }
