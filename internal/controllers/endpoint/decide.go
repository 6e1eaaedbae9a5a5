//lint:file-ignore SA1019 Kubernetes still serves the deprecated Endpoints

package endpoint

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/backend"
)

// managedBy and manager are the label of the controller's Endpoints and its value.
const (
	managedBy = "endpoints.kubernetes.io/managed-by"
	manager   = "endpoint-controller"
)

// Input is what the controller has observed.
type Input struct {
	// Service is nil if it does not exist.
	Service *corev1.Service
	// Pods are the pods that the service selects, sorted by name.
	Pods []*corev1.Pod
	// Endpoints has the service's name; nil if it does not exist.
	Endpoints *corev1.Endpoints
}

// Decide computes the actions for the Endpoints of a service.
func Decide(s Input) []action.Action {
	switch {
	case s.Service == nil && s.Endpoints == nil:
		return nil
	case s.Service == nil:
		return s.remove()
	case !backend.HasSelector(s.Service):
		return nil
	}
	next, changed := s.next()
	switch {
	case s.Endpoints == nil && s.Service.DeletionTimestamp == nil:
		return []action.Action{action.Create[*corev1.Endpoints]{Resource: resource, Object: next, Events: action.Events{
			Object: next, FailureReason: "FailedToCreateEndpoint",
			FailurePrefix: fmt.Sprintf("Failed to create endpoint for service %s/%s: ", s.Service.Namespace,
				s.Service.Name),
		}}}
	case s.Endpoints != nil && changed:
		return []action.Action{action.Update[*corev1.Endpoints]{Resource: resource, Object: next, Events: action.Events{
			Object: next, FailureReason: "FailedToUpdateEndpoint",
			FailurePrefix: fmt.Sprintf("Failed to update endpoint %s/%s: ", s.Service.Namespace, s.Service.Name),
		}}}
	}
	return nil
}

// remove deletes Endpoints without a service, except those that old programs use for leader election, which
// never have one.
func (s Input) remove() []action.Action {
	if _, usedForElection := s.Endpoints.Annotations[backend.LeaderAnnotation]; usedForElection {
		return nil
	}
	return []action.Action{
		action.Absent{Resource: backend.Services, Namespace: s.Endpoints.Namespace, Name: s.Endpoints.Name},
		action.Delete[*corev1.Endpoints]{Resource: resource, Object: s.Endpoints},
	}
}

// next returns the desired Endpoints, and whether they differ from the current ones.
func (s Input) next() (next *corev1.Endpoints, changed bool) {
	next = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: s.Service.Name, Namespace: s.Service.Namespace}}
	if s.Endpoints != nil {
		next = s.Endpoints.DeepCopy()
	}
	previous := next.Subsets
	next.Labels = s.labels()
	var truncated bool
	next.Subsets, truncated = truncate(subsets(s.Service, s.Pods))
	delete(next.Annotations, corev1.EndpointsOverCapacity)
	if truncated {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, corev1.EndpointsOverCapacity, "truncated")
	}
	if s.Endpoints != nil && equality.Semantic.DeepEqual(previous, next.Subsets) &&
		maps.Equal(s.Endpoints.Labels, next.Labels) &&
		s.Endpoints.Annotations[corev1.EndpointsOverCapacity] == next.Annotations[corev1.EndpointsOverCapacity] {
		return next, false
	}
	backend.SetTriggerTime(&next.ObjectMeta,
		backend.TriggerTime(s.Service, s.Endpoints == nil, s.changed(previous, next.Subsets)))
	return next, true
}

// labels returns the service's labels and the controller's own.
func (s Input) labels() map[string]string {
	all := map[string]string{}
	maps.Copy(all, s.Service.Labels)
	delete(all, corev1.IsHeadlessService)
	if backend.IsHeadless(s.Service) {
		all[corev1.IsHeadlessService] = ""
	}
	all[managedBy] = manager
	return all
}

// changed returns the pods that newly appear, or change between ready and not ready. Pods that disappear are
// not included.
func (s Input) changed(from, to []corev1.EndpointSubset) (changed []*corev1.Pod) {
	readyBefore, readyAfter := ready(from), ready(to)
	for _, p := range s.Pods {
		now, listed := readyAfter[p.UID]
		if before, known := readyBefore[p.UID]; listed && (!known || before != now) {
			changed = append(changed, p)
		}
	}
	return changed
}

// ready returns, for each pod with an address, whether it is listed as ready.
func ready(subsets []corev1.EndpointSubset) map[types.UID]bool {
	found := map[types.UID]bool{}
	note := func(addresses []corev1.EndpointAddress, ready bool) {
		for _, a := range addresses {
			if a.TargetRef != nil {
				found[a.TargetRef.UID] = ready
			}
		}
	}
	for _, subset := range subsets {
		note(subset.Addresses, true)
		note(subset.NotReadyAddresses, false)
	}
	return found
}
