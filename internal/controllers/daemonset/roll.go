package daemonset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// roll replaces pods of earlier templates on as many nodes at a time as the strategy permits.
func (d *decision) roll() {
	shouldRun := map[string]bool{}
	for _, node := range d.Nodes {
		if d.eligibility.match(node).shouldRun {
			shouldRun[node.Name] = true
		}
	}
	unavailable, surge := bounds(d.Set, len(shouldRun))
	if surge > 0 {
		d.surge(shouldRun, surge)
		return
	}
	d.replace(shouldRun, unavailable)
}

// bounds returns how many of the given number of nodes may be without an available pod, and how many may have
// two pods. Rolling update parameters are ignored if the set has another strategy.
func bounds(set *appsv1.DaemonSet, nodes int) (unavailable, surge int) {
	strategy := set.Spec.UpdateStrategy
	if rolling := strategy.RollingUpdate; rolling != nil && strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		unavailable, surge = scaledValue(rolling.MaxUnavailable, nodes), scaledValue(rolling.MaxSurge, nodes)
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

// scaledValue returns a number, or a percentage of whole rounded up; 0 if the value is neither.
func scaledValue(value *intstr.IntOrString, whole int) int {
	if value == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(value, whole, true)
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
// pods. Of the available pods, it deletes as many as possible while no more than maxNodes nodes lack an available
// pod.
func (d *decision) replace(shouldRun map[string]bool, maxNodes int) {
	missing := 0
	var candidates []*corev1.Pod
	for _, node := range d.eligibleNodes(shouldRun) {
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

// surge creates pods of the current template beside those of earlier ones, on at most maxNodes
// nodes, and deletes the earlier pods once the new ones are available. On nodes that should have no pod, it
// deletes earlier pods once enough pods are available in total.
func (d *decision) surge(shouldRun map[string]bool, maxNodes int) {
	surging, available := 0, 0
	var candidates []string
	var ineligible []*corev1.Pod
	for _, node := range d.eligibleNodes(shouldRun) {
		next, old, ok := d.pair(node)
		if !ok {
			surging++
			continue
		}
		hasAvailable := old != nil && d.available(old) || old == nil && next != nil && d.available(next)
		if hasAvailable {
			available++
		}
		switch {
		case old == nil:
		case next != nil && d.available(next), next == nil && !hasAvailable && !shouldRun[node]:
			d.changes.deleteIfUnchanged(old)
		case next != nil:
			surging++
		case !hasAvailable:
			d.createOn(node)
		case !shouldRun[node]:
			ineligible = append(ineligible, old)
		default:
			candidates = append(candidates, node)
		}
	}
	for i := range min(max(available-len(shouldRun), 0), len(ineligible)) {
		d.changes.deleteIfUnchanged(ineligible[i])
	}
	for _, node := range candidates[:min(max(maxNodes-surging, 0), len(candidates))] {
		d.createOn(node)
	}
}

// eligibleNodes returns the sorted names of the nodes that have pods or should have one. Controllers with the same
// cache process nodes in the same order.
func (d *decision) eligibleNodes(shouldRun map[string]bool) []string {
	names := d.nodesWithPods()
	for node := range shouldRun {
		if len(d.podsByNode[node]) == 0 {
			names = append(names, node)
		}
	}
	slices.Sort(names)
	return names
}
