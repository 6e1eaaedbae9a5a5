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
	"github.com/bowline-dev/bowline/internal/quota"
)

// input is the input of a decision: a quota, and the objects of each counted resource in its namespace.
type input struct {
	quota   *corev1.ResourceQuota
	objects map[schema.GroupResource]iter.Seq[client.Object]
	now     time.Time
}

// decision is what to do about a quota.
type decision struct {
	// status is nil if the usage has not changed.
	status *corev1.ResourceQuotaStatus
	// after is when the usage changes without an event; quota.Never if it does not.
	after time.Duration
}

// decide computes the usage. Amounts of resources without objects in the input remain unchanged.
func decide(s input) (d decision) {
	status := &corev1.ResourceQuotaStatus{Hard: s.quota.Spec.Hard.DeepCopy(), Used: corev1.ResourceList{}}
	if status.Hard == nil {
		status.Hard = corev1.ResourceList{}
	}
	names := map[schema.GroupResource][]corev1.ResourceName{}
	for name := range s.quota.Spec.Hard {
		in, counted := quota.CountedResource(name)
		if _, known := s.objects[in]; counted && known {
			names[in] = append(names[in], name)
			status.Used[name] = resource.Quantity{Format: resource.DecimalSI}
		} else if previous, ok := s.quota.Status.Used[name]; ok {
			status.Used[name] = previous
		}
	}
	d.after = quota.Never
	for in, names := range names {
		for obj := range s.objects[in] {
			if pod, isPod := obj.(*corev1.Pod); isPod {
				if in := quota.StopsCountingIn(pod, s.now); in >= 0 {
					d.after = min(d.after, in)
				}
			}
			s.add(obj, names, status.Used)
		}
	}
	if !equality.Semantic.DeepEqual(*status, s.quota.Status) {
		d.status = status
	}
	return d
}

// toConfirm returns a filter that selects the resources with an amount that a decision changes, and those that could
// not be read.
func (s input) toConfirm(d decision) func(schema.GroupResource) bool {
	changed := map[schema.GroupResource]bool{}
	for name, amount := range d.status.Used {
		previous, known := s.quota.Status.Used[name]
		if in, counted := quota.CountedResource(name); counted && (!known || amount.Cmp(previous) != 0) {
			changed[in] = true
		}
	}
	return func(resource schema.GroupResource) bool {
		_, known := s.objects[resource]
		return changed[resource] || !known
	}
}

// actions returns the actions of a decision.
func (s input) actions(d decision) (actions []action.Action) {
	if d.status != nil {
		counted := s.quota.DeepCopy()
		counted.Status = *d.status
		actions = append(actions, action.Update[*corev1.ResourceQuota]{Resource: quotas, Object: counted,
			Subresource: "status"})
	}
	if d.after < quota.Never {
		actions = append(actions, action.Requeue{After: d.after + time.Millisecond})
	}
	return actions
}

// add adds the usage of an object if it is in all scopes of the quota.
func (s input) add(obj client.Object, names []corev1.ResourceName, used corev1.ResourceList) {
	if !quota.Covers(s.quota, obj) {
		return
	}
	amount := quota.UsageOf(obj, s.now)
	for _, name := range names {
		sum := used[name]
		sum.Add(amount(name))
		used[name] = sum
	}
}
