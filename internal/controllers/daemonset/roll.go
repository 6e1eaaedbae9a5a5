package daemonset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// roll replaces pods of earlier templates on as many nodes at a time as the strategy permits.
func (d *decision) roll() {
	should := map[string]bool{}
	for _, node := range d.Nodes {
		if d.eligibility.of(node).shouldRun {
			should[node.Name] = true
		}
	}
	unavailable, surge := bounds(d.Set, len(should))
	if surge > 0 {
		d.surge(should, surge)
		return
	}
	d.replace(should, unavailable)
}

// bounds returns how many of the given number of nodes may be without an available pod, and how many may have
// two pods. Rolling update parameters are ignored if the set has another strategy.
func bounds(set *appsv1.DaemonSet, nodes int) (unavailable, surge int) {
	strategy := set.Spec.UpdateStrategy
	if rolling := strategy.RollingUpdate; rolling != nil && strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		unavailable, surge = share(rolling.MaxUnavailable, nodes), share(rolling.MaxSurge, nodes)
	}
	if unavailable == 0 && surge == 0 {
		unavailable = 1
	}
	return unavailable, surge
}

// surges reports whether a node may have two pods.
func surges(set *appsv1.DaemonSet) bool {
	_, surge := bounds(set, 1)
	return surge > 0
}

// share returns a number, or a percentage of whole rounded up; 0 if the value is neither.
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

// pair returns a node's pod of the current template and its pod of an earlier one, ignoring pods that are
// being deleted. ok is false if there are more pods; retainOne reduces them first.
func (d *decision) pair(node string) (next, old *corev1.Pod, ok bool) {
	for _, pod := range d.podsByNode[node] {
		switch isNext := d.factory.isCurrent(pod); {
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

// replace deletes pods of earlier templates, after which their nodes get new ones. It deletes all unavailable
// pods. Of the available pods, it deletes as many as possible while no more than most nodes lack an available
// pod.
func (d *decision) replace(should map[string]bool, maxNodes int) {
	missing := 0
	var candidates []*corev1.Pod
	for _, node := range d.eligibleNodes(should) {
		switch next, old, ok := d.pair(node); {
		case !ok, (next == nil) == (old == nil): // no pod, or temporarily two
			missing++
		case next != nil:
			if !d.available(next) {
				missing++
			}
		case !d.available(old):
			missing++
			d.changes.deleteIfUnchanged(old)
		default:
			candidates = append(candidates, old)
		}
	}
	for i := range min(max(maxNodes-missing, 0), len(candidates)) {
		d.changes.deleteIfUnchanged(candidates[i])
	}
}

// surge creates pods of the current template beside those of earlier ones, on at most the given number of
// nodes, and deletes the earlier pods once the new ones are available. On nodes that should have no pod, it
// deletes earlier pods once enough pods are available in total.
func (d *decision) surge(should map[string]bool, maxNodes int) {
	twice, available := 0, 0
	var candidates []string
	var elsewhere []*corev1.Pod
	for _, node := range d.eligibleNodes(should) {
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
			d.changes.deleteIfUnchanged(old)
		case next != nil:
			twice++
		case !works:
			d.createOn(node)
		case !should[node]:
			elsewhere = append(elsewhere, old)
		default:
			candidates = append(candidates, node)
		}
	}
	for i := range min(max(available-len(should), 0), len(elsewhere)) {
		d.changes.deleteIfUnchanged(elsewhere[i])
	}
	for _, node := range candidates[:min(max(maxNodes-twice, 0), len(candidates))] {
		d.createOn(node)
	}
}

// eligibleNodes returns the sorted names of the nodes that have pods or should have one. Controllers with the same
// cache process nodes in the same order.
func (d *decision) eligibleNodes(should map[string]bool) []string {
	names := d.nodesWithPods()
	for node := range should {
		if len(d.podsByNode[node]) == 0 {
			names = append(names, node)
		}
	}
	slices.Sort(names)
	return names
}
