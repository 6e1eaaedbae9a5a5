package daemonset

import (
	"cmp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/history"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podset"
)

// Seen is the observed state that a decision is based on.
type Seen struct {
	podset.Observed[*appsv1.DaemonSet]
	// Nodes are all nodes, sorted by name.
	Nodes []*corev1.Node
}

// Plan lists the actions for a set and its new status.
type Plan = podset.Plan[appsv1.DaemonSetStatus]

// Decide returns the actions that bring one pod of the template to each node that should have one.
func Decide(s Seen) (Plan, error) {
	selector, err := metav1.LabelSelectorAsSelector(s.Set.Spec.Selector)
	switch {
	case err != nil:
		return Plan{}, err
	case selector.Empty():
		return Plan{Status: s.Set.Status, Apply: []action.Action{action.Event{
			Object: s.Set, Warning: true, Reason: "SelectingAll",
			Message: "This daemon set is selecting all pods. A non-empty selector is required.",
		}}}, nil
	// the garbage collector deletes its dependents, so the observed pods may be incomplete
	case s.Set.DeletionTimestamp != nil:
		return Plan{Status: s.Set.Status}, nil
	}
	owner := ownership.Owner{Object: s.Set, Kind: kind, Resource: resource, Selector: selector}
	line, err := history.Resolve(history.Workload{
		Owner: owner, Template: &s.Set.Spec.Template, Collisions: s.Set.Status.CollisionCount,
		Hash:  func(_ []byte, collisions *int32) string { return pods.Hash(&s.Set.Spec.Template, collisions) },
		Label: appsv1.DefaultDaemonSetUniqueLabelKey,
	}, s.Revisions, s.Revision)
	if err != nil {
		return Plan{}, err
	}
	claims := ownership.Claim(owner, s.Pods)
	d := newDaemons(s, line, append(claims.Owned, claims.Adopted...))
	if joins := d.join(); len(joins) > 0 { // the pods must be relabeled before they can be assigned to a template
		return Plan{Claim: append(line.Actions, joins...), Status: s.Set.Status}, nil
	}
	d.keep()
	plan := Plan{Claim: append(line.Actions, d.claim(owner, claims)...), Status: d.status()}
	plan.Apply = d.actions(selector)
	plan.RequeueAfter = d.again
	return plan, nil
}

// daemons is the state of a decision in progress.
type daemons struct {
	Seen
	line history.Revisions
	// hash and generation are the values of the labels that identify pods of the current template.
	hash, generation string
	place            place
	pods             []*corev1.Pod
	// on maps the name of a node to the pods that are bound to it or that can only be scheduled to it.
	on map[string][]*corev1.Pod
	// create lists the nodes that get a pod, remove holds the pod deletions, told holds the events, and again
	// is the time until the next decision is due; 0 means none.
	create []string
	remove action.Parallel
	told   []action.Action
	again  time.Duration
}

func newDaemons(s Seen, line history.Revisions, mine []*corev1.Pod) *daemons {
	d := &daemons{
		Seen: s, line: line, pods: mine, on: map[string][]*corev1.Pod{},
		hash:       hashOf(s.Set, line.Current),
		generation: generationOf(s.Set),
		place:      placeOf(&s.Set.Spec.Template),
	}
	for _, pod := range mine {
		if pods.IsTerminal(pod) && pod.DeletionTimestamp != nil {
			continue // the pod needs no further action
		}
		if node := nodeOf(pod); node != "" {
			d.on[node] = append(d.on[node], pod)
		}
	}
	for _, of := range d.on {
		slices.SortFunc(of, oldestFirst)
	}
	return d
}

// keep decides about the pods of all nodes. A new template is rolled out only when no pod has to be created
// or deleted otherwise.
func (d *daemons) keep() {
	known := map[string]bool{}
	for _, node := range d.Nodes {
		known[node.Name] = true
		d.onNode(node)
	}
	for _, node := range d.nodesWithPods() {
		if !known[node] { // pods that are not bound will never start, and no other controller deletes them
			bound := func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }
			d.leave(node, standing{}, slices.DeleteFunc(slices.Clone(d.on[node]), bound))
		}
	}
	if len(d.create) == 0 && len(d.remove) == 0 &&
		d.Set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		d.roll()
	}
}

// most limits how many pods are created and how many are deleted in one run; the status is updated in
// between.
const most = 250

// actions returns the actions for pods and for revisions that are no longer needed. If pods are created or
// deleted, the first action checks that the set's pods have not changed since they were observed.
func (d *daemons) actions(selector labels.Selector) (actions []action.Action) {
	if len(d.remove)+len(d.create) > 0 {
		actions = append(actions, action.DependentsUnchanged[*corev1.Pod]{Resource: pods.Resource, Owner: d.Set,
			Selector: selector, Objects: d.Pods})
	}
	actions = append(actions, d.told...)
	if len(d.remove) > 0 {
		actions = append(actions, d.remove[:min(len(d.remove), most)])
	}
	if len(d.create) > 0 {
		actions = append(actions, d.created())
	}
	return append(actions, d.forget()...)
}

// forget deletes the oldest revisions that exceed the set's history limit and that no pod uses.
func (d *daemons) forget() []action.Action {
	used := map[string]bool{}
	for _, pod := range d.pods {
		used[pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] = true
	}
	needed := func(r *appsv1.ControllerRevision) bool { return used[hashOf(d.Set, r)] }
	return history.Prune(d.line.Old, needed, len(d.line.Old)-int(ptr.Deref(d.Set.Spec.RevisionHistoryLimit, 10)))
}

// hashOf returns the label value that identifies the pods of a revision: the revision's own label or, if that
// was removed, the suffix of its name.
func hashOf(set *appsv1.DaemonSet, r *appsv1.ControllerRevision) string {
	return cmp.Or(r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey], strings.TrimPrefix(r.Name, set.Name+"-"))
}

// soon requests another decision after the given time, unless an earlier one has been requested.
func (d *daemons) soon(after time.Duration) {
	if after > 0 && (d.again == 0 || after < d.again) {
		d.again = after
	}
}
