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

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
	"github.com/bowline-dev/bowline/internal/controllers/history"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
	"github.com/bowline-dev/bowline/internal/controllers/sets"
)

// Seen is what a decision is made of.
type Seen struct {
	sets.Seen[*appsv1.DaemonSet]
	// Nodes are all that there are, by name.
	Nodes []*corev1.Node
}

// Plan is what to do about a set.
type Plan = sets.Plan[appsv1.DaemonSetStatus]

// Decide says what is to be done so that there is a pod of the template on each node where one should be.
func Decide(s Seen) (Plan, error) {
	selector, err := metav1.LabelSelectorAsSelector(s.Set.Spec.Selector)
	switch {
	case err != nil:
		return Plan{}, err
	case selector.Empty():
		return Plan{Status: s.Set.Status, Keep: []action.Action{action.Event{
			About: s.Set, Warning: true, Reason: "SelectingAll",
			Message: "This daemon set is selecting all pods. A non-empty selector is required.",
		}}}, nil
	case s.Set.DeletionTimestamp != nil: // nobody knows what of it has gone
		return Plan{Status: s.Set.Status}, nil
	}
	owner := adopt.Owner{Object: s.Set, Kind: kind, In: resource, Selector: selector}
	line, err := history.Of(history.Workload{
		Owner: owner, Template: &s.Set.Spec.Template, Collisions: s.Set.Status.CollisionCount,
		Hash:  func(_ []byte, collisions *int32) string { return pods.Hash(&s.Set.Spec.Template, collisions) },
		Label: appsv1.DefaultDaemonSetUniqueLabelKey,
	}, s.Revisions, s.Revision)
	if err != nil {
		return Plan{}, err
	}
	claims := adopt.Claim(owner, s.Pods)
	d := newDaemons(s, line, append(claims.Owned, claims.Adopted...))
	if joins := d.join(); len(joins) > 0 { // and which pods are of the template is seen after that
		return Plan{Claim: append(line.Actions, joins...), Status: s.Set.Status}, nil
	}
	d.keep()
	plan := Plan{Claim: append(line.Actions, d.claim(owner, claims)...), Status: d.status()}
	plan.Keep = d.actions(selector)
	plan.Again = d.again
	return plan, nil
}

// daemons is a decision that is being made.
type daemons struct {
	Seen
	line history.Line
	// hash and generation are the labels of pods that are of the template.
	hash, generation string
	place            place
	pods             []*corev1.Pod
	// on are the pods by the name of the node that they are on, or are to be on.
	on map[string][]*corev1.Pod
	// create are the nodes that get a pod, remove what deletes pods, told what is told of them.
	create []string
	remove action.Together
	told   []action.Action
	again  time.Duration
}

func newDaemons(s Seen, line history.Line, mine []*corev1.Pod) *daemons {
	d := &daemons{
		Seen: s, line: line, pods: mine, on: map[string][]*corev1.Pod{},
		hash:       hashOf(s.Set, line.Now),
		generation: generationOf(s.Set),
		place:      placeOf(&s.Set.Spec.Template),
	}
	for _, pod := range mine {
		if pods.HasEnded(pod) && pod.DeletionTimestamp != nil {
			continue // there is nothing to do about it any more
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

// keep decides about pods. Another template has to wait until there is a pod where one should be.
func (d *daemons) keep() {
	known := map[string]bool{}
	for _, node := range d.Nodes {
		known[node.Name] = true
		d.onNode(node)
	}
	for _, node := range d.nodesWithPods() {
		if !known[node] { // nobody will ever start those that it has not got yet, and nobody else deletes them
			bound := func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }
			d.leave(node, standing{}, slices.DeleteFunc(slices.Clone(d.on[node]), bound))
		}
	}
	if len(d.create) == 0 && len(d.remove) == 0 && d.Set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		d.roll()
	}
}

// most is how many pods are created, and how many deleted, in one run: the status is told in between.
const most = 250

// actions are what was decided about pods, and about templates that nobody needs any more. The first follows from what all pods
// are.
func (d *daemons) actions(selector labels.Selector) (actions []action.Action) {
	if len(d.remove)+len(d.create) > 0 {
		actions = append(actions, action.Same[*corev1.Pod]{In: pods.Resource, Owner: d.Set, Selector: selector, Objects: d.Pods})
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

// forget deletes the oldest templates, if they are more than the set wants to keep and no pod is of them.
func (d *daemons) forget() []action.Action {
	used := map[string]bool{}
	for _, pod := range d.pods {
		used[pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] = true
	}
	needed := func(r *appsv1.ControllerRevision) bool { return used[hashOf(d.Set, r)] }
	return history.Forget(d.line.Old, needed, len(d.line.Old)-int(ptr.Deref(d.Set.Spec.RevisionHistoryLimit, 10)))
}

// hashOf is the label of the pods that are of a revision: its own, or, where somebody has taken that away, what its name ends
// with.
func hashOf(set *appsv1.DaemonSet, r *appsv1.ControllerRevision) string {
	return cmp.Or(r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey], strings.TrimPrefix(r.Name, set.Name+"-"))
}

// soon notes that something will be otherwise after a while.
func (d *daemons) soon(after time.Duration) {
	if after > 0 && (d.again == 0 || after < d.again) {
		d.again = after
	}
}
