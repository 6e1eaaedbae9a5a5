// Package quota computes what objects use of ResourceQuotas. The admission plugin ResourceQuota charges each write with
// it, and the resourcequota controller adds it up.
package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Write is a write that may use more of a quota. It is not safe for concurrent use.
type Write struct {
	Resource schema.GroupResource
	// Object is the new state, and Old the previous one; Old is nil for a create.
	Object, Old metav1.Object
	Now         time.Time

	now, before Usage // of Object and Old, once they are computed
}

// Check returns an error, in Kubernetes' words, if a quota limits CPU or memory, and a container of a new pod does not
// set the request or limit that then is required.
func (w *Write) Check(q *corev1.ResourceQuota) error {
	pod, isPod := w.Object.(*corev1.Pod)
	names := w.counted(q)
	if !isPod || len(names) == 0 || !Covers(q, pod) {
		return nil
	}
	if missing := unspecified(pod, names); missing != "" {
		return fmt.Errorf("failed quota: %s: must specify %s", q.Name, missing)
	}
	return nil
}

// Charge returns the usage of a quota after the write; nil if the write does not use more of it. The error states, in
// Kubernetes' words, why the quota does not permit the write. Charge does not change q.
func (w *Write) Charge(q *corev1.ResourceQuota) (corev1.ResourceList, error) {
	more, err := w.permitted(q)
	if err != nil || len(more) == 0 {
		return nil, err
	}
	used := maps.Clone(q.Status.Used)
	for _, m := range more {
		sum := q.Status.Used[m.name].DeepCopy()
		sum.Add(m.Quantity)
		_ = sum.String() // sum keeps the text, which its encoders need several times
		used[m.name] = sum
	}
	return used, nil
}

// Charges reports whether the write uses more of a quota. The error is that of Charge.
func (w *Write) Charges(q *corev1.ResourceQuota) (bool, error) {
	more, err := w.permitted(q)
	return len(more) > 0, err
}

// amount is a quantity of what a quota limits.
type amount struct {
	name corev1.ResourceName
	resource.Quantity
}

// permitted returns the amounts by which the write uses more of a quota, or an error if the quota does not permit it.
func (w *Write) permitted(q *corev1.ResourceQuota) ([]amount, error) {
	names := w.counted(q)
	if len(names) == 0 || !Covers(q, w.Object) {
		return nil, nil
	}
	for _, name := range names {
		if _, known := q.Status.Used[name]; !known {
			return nil, fmt.Errorf("status unknown for quota: %s, resources: %s", q.Name, joined(names))
		}
	}
	more := w.difference(q, names)
	var exceeded []corev1.ResourceName
	for _, m := range more {
		sum := q.Status.Used[m.name].DeepCopy()
		sum.Add(m.Quantity)
		if hard := q.Status.Hard[m.name]; sum.Cmp(hard) > 0 {
			exceeded = append(exceeded, m.name)
		}
	}
	if len(exceeded) > 0 {
		requested := make(corev1.ResourceList, len(more))
		for _, m := range more {
			requested[m.name] = m.Quantity
		}
		return nil, fmt.Errorf("exceeded quota: %s, requested: %s, used: %s, limited: %s", q.Name,
			amounts(requested, exceeded), amounts(q.Status.Used, exceeded), amounts(q.Status.Hard, exceeded))
	}
	return more, nil
}

// ChangesScope reports whether the write of a pod sets or removes its deadline. Nothing else that an update of a pod
// may change affects a quota.
func (w *Write) ChangesScope() bool {
	now, isPod := w.Object.(*corev1.Pod)
	before, wasPod := w.Old.(*corev1.Pod)
	return isPod && wasPod && (now.Spec.ActiveDeadlineSeconds == nil) != (before.Spec.ActiveDeadlineSeconds == nil)
}

// counted returns the names of the amounts that a quota limits and objects of the resource use.
func (w *Write) counted(q *corev1.ResourceQuota) (names []corev1.ResourceName) {
	for name := range q.Status.Hard {
		if in, ok := CountedResource(name); ok && in == w.Resource {
			names = append(names, name)
		}
	}
	return names
}

// difference returns the amounts by which the write uses more than before, without those that are 0. An old state
// that the quota did not cover used nothing.
func (w *Write) difference(q *corev1.ResourceQuota, names []corev1.ResourceName) []amount {
	if w.now == nil {
		w.now = UsageOf(w.Object, w.Now)
	}
	if w.before == nil && w.Old != nil {
		w.before = UsageOf(w.Old, w.Now)
	}
	covered := w.Old != nil && Covers(q, w.Old)
	more := make([]amount, 0, len(names))
	for _, name := range names {
		m := amount{name, w.now(name).DeepCopy()}
		if covered {
			m.Sub(w.before(name))
		}
		if m.Sign() > 0 {
			more = append(more, m)
		}
	}
	return more
}

// mustSet maps an amount that a quota limits to the request or limit that each container of a pod must then set.
var mustSet = map[corev1.ResourceName]struct {
	resource corev1.ResourceName
	limit    bool
}{
	corev1.ResourceCPU:            {corev1.ResourceCPU, false},
	corev1.ResourceMemory:         {corev1.ResourceMemory, false},
	corev1.ResourceRequestsCPU:    {corev1.ResourceCPU, false},
	corev1.ResourceRequestsMemory: {corev1.ResourceMemory, false},
	corev1.ResourceLimitsCPU:      {corev1.ResourceCPU, true},
	corev1.ResourceLimitsMemory:   {corev1.ResourceMemory, true},
}

// unspecified returns the amounts that a quota limits and a pod must state but does not, each with the names of its
// containers that do not; empty if there are none.
func unspecified(pod *corev1.Pod, names []corev1.ResourceName) string {
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		return ""
	}
	var missing []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		must, ok := mustSet[name]
		if !ok {
			continue
		}
		containers := map[string]bool{}
		for _, all := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range all {
				stated := all[i].Resources.Requests
				if must.limit {
					stated = all[i].Resources.Limits
				}
				if _, found := stated[must.resource]; !found {
					containers[all[i].Name] = true
				}
			}
		}
		if len(containers) > 0 {
			missing = append(missing, fmt.Sprintf("%s for: %s", name,
				strings.Join(slices.Sorted(maps.Keys(containers)), ",")))
		}
	}
	return strings.Join(missing, "; ")
}

func joined(names []corev1.ResourceName) string {
	var all []string
	for _, name := range names {
		all = append(all, string(name))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// amounts describes some amounts of a list.
func amounts(list corev1.ResourceList, names []corev1.ResourceName) string {
	var parts []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		if amount, found := list[name]; found {
			parts = append(parts, string(name)+"="+amount.String())
		}
	}
	return strings.Join(parts, ",")
}
