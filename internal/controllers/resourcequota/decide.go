package resourcequota

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// input is the input of a decision: a quota, and the objects of each counted resource in its namespace.
type input struct {
	quota   *corev1.ResourceQuota
	objects map[schema.GroupResource]iter.Seq[client.Object]
	now     time.Time
}

// decide updates the status if the usage has changed. Amounts of resources that could not be listed remain
// unchanged.
func decide(s input) (actions []action.Action) {
	status := corev1.ResourceQuotaStatus{Hard: s.quota.Spec.Hard.DeepCopy(), Used: corev1.ResourceList{}}
	if status.Hard == nil {
		status.Hard = corev1.ResourceList{}
	}
	names := map[schema.GroupResource][]corev1.ResourceName{}
	for name := range s.quota.Spec.Hard {
		in, counted := countedResource(name)
		if _, known := s.objects[in]; counted && known {
			names[in] = append(names[in], name)
			status.Used[name] = resource.Quantity{Format: resource.DecimalSI}
		} else if previous, ok := s.quota.Status.Used[name]; ok {
			status.Used[name] = previous
		}
	}
	next := never
	for in, names := range names {
		for obj := range s.objects[in] {
			if pod, isPod := obj.(*corev1.Pod); isPod {
				if in := stopsCountingIn(pod, s.now); in >= 0 {
					next = min(next, in)
				}
			}
			s.add(obj, names, status.Used)
		}
	}
	if !equality.Semantic.DeepEqual(status, s.quota.Status) {
		quota := s.quota.DeepCopy()
		quota.Status = status
		actions = append(actions, action.Update[*corev1.ResourceQuota]{Resource: quotas, Object: quota,
			Subresource: "status"})
	}
	if next < never {
		actions = append(actions, action.Requeue{After: next + time.Millisecond})
	}
	return actions
}

// add adds the usage of an object if it is in all scopes of the quota.
func (s input) add(obj client.Object, names []corev1.ResourceName, used corev1.ResourceList) {
	for _, scope := range scopesOf(s.quota) {
		if !isIn(obj, scope) {
			return
		}
	}
	amount := usageOf(obj, s.now)
	for _, name := range names {
		sum := used[name]
		sum.Add(amount(name))
		used[name] = sum
	}
}
