package daemonset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// roll takes nodes from one template to the next, as many at a time as the strategy allows.
func (d *daemons) roll() {
	should := map[string]bool{}
	for _, node := range d.Nodes {
		if d.place.of(node).should {
			should[node.Name] = true
		}
	}
	unavailable, surge := d.bounds(len(should))
	if surge > 0 {
		d.surge(should, surge)
		return
	}
	d.replace(should, unavailable)
}

// bounds are how many nodes may be without an available pod, and how many may have two, of so many. What stands there of another
// strategy than the set's says nothing.
func (d *daemons) bounds(nodes int) (unavailable, surge int) {
	strategy := d.Set.Spec.UpdateStrategy
	if rolling := strategy.RollingUpdate; rolling != nil && strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		unavailable, surge = share(rolling.MaxUnavailable, nodes), share(rolling.MaxSurge, nodes)
	}
	if unavailable == 0 && surge == 0 {
		unavailable = 1
	}
	return unavailable, surge
}

// surges says whether a node may have two pods.
func (d *daemons) surges() bool {
	_, surge := d.bounds(1)
	return surge > 0
}

// share is a number, or a percentage of a whole, rounded up; what is neither is none.
func share(of *intstr.IntOrString, whole int) int {
	if of == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(of, whole, true)
	if err != nil {
		return 0
	}
	return n
}

// pair are a node's pod of the template and the one of another, of those that are not being deleted. It is false for more than
// that, about which is decided first.
func (d *daemons) pair(node string) (next, old *corev1.Pod, ok bool) {
	for _, pod := range d.on[node] {
		switch isNext := d.isNext(pod); {
		case pod.DeletionTimestamp != nil:
		case isNext && next == nil:
			next = pod
		case !isNext && old == nil:
			old = pod
		default:
			return nil, nil, false
		}
	}
	return next, old, true
}

// replace deletes pods of other templates, after which their nodes get new ones: those that are not available without ado, of the
// others as many as may be missing.
func (d *daemons) replace(should map[string]bool, most int) {
	missing := 0
	var candidates []*corev1.Pod
	for _, node := range d.places(should) {
		switch next, old, ok := d.pair(node); {
		case !ok, (next == nil) == (old == nil): // it is without a pod, or with two, for now
			missing++
		case next != nil:
			if !d.available(next) {
				missing++
			}
		case !d.available(old):
			missing++
			d.deleteAsSeen(old)
		default:
			candidates = append(candidates, old)
		}
	}
	for i := range min(max(most-missing, 0), len(candidates)) {
		d.deleteAsSeen(candidates[i])
	}
}

// deleteAsSeen deletes a pod if it is as it was seen: one that seems not to be available may be so by now.
func (d *daemons) deleteAsSeen(pod *corev1.Pod) {
	deletion := d.deletion(pod)
	deletion.Unchanged = true
	d.remove = append(d.remove, deletion)
}

// surge makes pods of the template beside those of another, and deletes these when the new ones are available. Where no pod
// should be any more, one goes when there are enough elsewhere.
func (d *daemons) surge(should map[string]bool, most int) {
	twice, available := 0, 0
	var candidates []string
	var elsewhere []*corev1.Pod
	for _, node := range d.places(should) {
		next, old, ok := d.pair(node)
		if !ok {
			twice++
			continue
		}
		works := old != nil && d.available(old) || old == nil && next != nil && d.available(next)
		if works {
			available++
		}
		switch {
		case old == nil:
		case next != nil && d.available(next), next == nil && !works && !should[node]:
			d.deleteAsSeen(old)
		case next != nil:
			twice++
		case !works:
			d.lacks(node)
		case !should[node]:
			elsewhere = append(elsewhere, old)
		default:
			candidates = append(candidates, node)
		}
	}
	for i := range min(max(available-len(should), 0), len(elsewhere)) {
		d.deleteAsSeen(elsewhere[i])
	}
	for _, node := range candidates[:min(max(most-twice, 0), len(candidates))] {
		d.lacks(node)
	}
}

// places are the names of nodes that have pods or should, sorted: whoever sees the same begins with the same node.
func (d *daemons) places(should map[string]bool) []string {
	names := d.nodesWithPods()
	for node := range should {
		if len(d.on[node]) == 0 {
			names = append(names, node)
		}
	}
	slices.Sort(names)
	return names
}
