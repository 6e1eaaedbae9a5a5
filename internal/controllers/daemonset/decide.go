package daemonset

import (
	"slices"

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

// Observed is the observed state that a decision is based on.
type Observed struct {
	podset.Observed[*appsv1.DaemonSet]
	// Nodes are all nodes, sorted by name.
	Nodes []*corev1.Node
}

// Plan lists the actions for a set and its new status.
type Plan = podset.Plan[appsv1.DaemonSetStatus]

// Decide returns the actions that bring one pod of the template to each node that should have one.
func Decide(s Observed) (Plan, error) {
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
	revisions, err := history.Resolve(history.Workload{
		Owner: owner, Template: &s.Set.Spec.Template, Collisions: s.Set.Status.CollisionCount,
		Hash:  func(_ []byte, collisions *int32) string { return pods.Hash(&s.Set.Spec.Template, collisions) },
		Label: appsv1.DefaultDaemonSetUniqueLabelKey,
	}, s.Revisions, s.Revision)
	if err != nil {
		return Plan{}, err
	}
	claims := ownership.Claim(owner, s.Pods)
	d := newDecision(s, revisions, append(claims.Owned, claims.Adopted...))
	// the pods must be relabeled before they can be assigned to a template
	if merges := d.mergeDuplicates(); len(merges) > 0 {
		return Plan{Claim: append(revisions.Actions, merges...), Status: s.Set.Status}, nil
	}
	d.decideNodes()
	plan := Plan{Claim: append(revisions.Actions, d.claim(owner, claims)...), Status: d.status()}
	plan.Apply = d.actions(selector)
	plan.RequeueAfter = d.changes.requeueAfter
	return plan, nil
}

// decision is the state of a decision in progress.
type decision struct {
	Observed
	history     history.Revisions
	eligibility eligibility
	factory     podFactory
	pods        []*corev1.Pod
	// podsByNode maps the name of a node to the pods that are bound to it or that can only be scheduled to it.
	podsByNode map[string][]*corev1.Pod
	changes    changes
	// conditions are those of the status.
	conditions []appsv1.DaemonSetCondition
}

func newDecision(s Observed, revisions history.Revisions, owned []*corev1.Pod) *decision {
	d := &decision{
		Observed: s, history: revisions, pods: owned, podsByNode: map[string][]*corev1.Pod{},
		eligibility: eligibilityOf(&s.Set.Spec.Template),
		factory: podFactory{set: s.Set, hash: hashOf(s.Set, revisions.Current), generation: generationOf(s.Set),
			observed: owned, podByName: s.Pod},
		changes: changes{set: s.Set}, conditions: s.Set.Status.Conditions,
	}
	for _, pod := range owned {
		if pods.IsTerminal(pod) && pod.DeletionTimestamp != nil {
			continue // the pod needs no further action
		}
		if node := targetNode(pod); node != "" {
			d.podsByNode[node] = append(d.podsByNode[node], pod)
		}
	}
	for _, nodePods := range d.podsByNode {
		slices.SortFunc(nodePods, oldestFirst)
	}
	return d
}

// decideNodes decides about the pods of all nodes. A new template is rolled out only when no pod has to be created
// or deleted otherwise.
func (d *decision) decideNodes() {
	known := map[string]bool{}
	for _, node := range d.Nodes {
		known[node.Name] = true
		d.decideNode(node)
	}
	for _, node := range d.nodesWithPods() {
		if !known[node] { // pods that are not bound will never start, and no other controller deletes them
			bound := func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }
			d.changes.deleteAll(d.eligibility, node, nodeMatch{},
				slices.DeleteFunc(slices.Clone(d.podsByNode[node]), bound))
		}
	}
	if len(d.changes.create) == 0 && len(d.changes.deletions) == 0 &&
		d.Set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		d.roll()
	}
	d.limitCreations()
}

// maxBatch limits how many pods are created and how many are deleted in one run; the status is updated in
// between.
const maxBatch = 250

// actions returns the actions for pods and for revisions that are no longer needed. If pods are created or
// deleted, the first action checks that the set's pods have not changed since they were observed.
func (d *decision) actions(selector labels.Selector) (actions []action.Action) {
	if len(d.changes.deletions)+len(d.changes.create) > 0 {
		actions = append(actions, action.DependentsUnchanged[*corev1.Pod]{Resource: pods.Resource, Owner: d.Set,
			Selector: selector, Objects: d.Pods})
	}
	actions = append(actions, d.changes.events...)
	if len(d.changes.deletions) > 0 {
		actions = append(actions, d.changes.deletions[:min(len(d.changes.deletions), maxBatch)])
	}
	if len(d.changes.create) > 0 {
		actions = append(actions, d.factory.creations(d.changes.create[:min(len(d.changes.create), maxBatch)],
			d.eligibility))
	}
	return append(actions, d.pruneHistory()...)
}

// pruneHistory deletes the oldest revisions that exceed the set's history limit and that no pod uses.
func (d *decision) pruneHistory() []action.Action {
	used := map[string]bool{}
	for _, pod := range d.pods {
		used[pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] = true
	}
	needed := func(r *appsv1.ControllerRevision) bool { return used[hashOf(d.Set, r)] }
	return history.Prune(d.history.Old, needed, len(d.history.Old)-int(ptr.Deref(d.Set.Spec.RevisionHistoryLimit, 10)))
}
