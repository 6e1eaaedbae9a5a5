//lint:file-ignore SA1019 Kubernetes keeps its deprecated endpoints still

package endpoint

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/backend"
)

// What the controller's endpoints are known by.
const (
	managedBy = "endpoints.kubernetes.io/managed-by"
	manager   = "endpoint-controller"
)

// Seen is what a decision is made of.
type Seen struct {
	// Service is nil when it has gone.
	Service *corev1.Service
	// Pods are those that the service selects, by name.
	Pods []*corev1.Pod
	// Endpoints are those of the service's name, or nil.
	Endpoints *corev1.Endpoints
}

// Decide says what to do about the endpoints of a service.
func Decide(s Seen) []action.Action {
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
		return []action.Action{action.Create[*corev1.Endpoints]{In: resource, Object: next, Tell: action.Tell{
			About: next, FailureReason: "FailedToCreateEndpoint",
			FailureBegin: fmt.Sprintf("Failed to create endpoint for service %s/%s: ", s.Service.Namespace, s.Service.Name),
		}}}
	case s.Endpoints != nil && changed:
		return []action.Action{action.Update[*corev1.Endpoints]{In: resource, Object: next, Tell: action.Tell{
			About: next, FailureReason: "FailedToUpdateEndpoint",
			FailureBegin: fmt.Sprintf("Failed to update endpoint %s/%s: ", s.Service.Namespace, s.Service.Name),
		}}}
	}
	return nil
}

// remove deletes endpoints without a service. Those that old programs elect a leader by never have one.
func (s Seen) remove() []action.Action {
	if _, elects := s.Endpoints.Annotations[resourcelock.LeaderElectionRecordAnnotationKey]; elects {
		return nil
	}
	return []action.Action{
		action.Absent{In: backend.Services, Namespace: s.Endpoints.Namespace, Name: s.Endpoints.Name},
		action.Delete[*corev1.Endpoints]{In: resource, Object: s.Endpoints},
	}
}

// next is what the endpoints should be, and whether they are something else.
func (s Seen) next() (next *corev1.Endpoints, changed bool) {
	next = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: s.Service.Name, Namespace: s.Service.Namespace}}
	if s.Endpoints != nil {
		next = s.Endpoints.DeepCopy()
	}
	was := next.Subsets
	next.Labels = s.labels()
	var over bool
	next.Subsets, over = bounded(subsets(s.Service, s.Pods))
	delete(next.Annotations, corev1.EndpointsOverCapacity)
	if over {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, corev1.EndpointsOverCapacity, "truncated")
	}
	if s.Endpoints != nil && equality.Semantic.DeepEqual(was, next.Subsets) && maps.Equal(s.Endpoints.Labels, next.Labels) &&
		s.Endpoints.Annotations[corev1.EndpointsOverCapacity] == next.Annotations[corev1.EndpointsOverCapacity] {
		return next, false
	}
	backend.Tell(&next.ObjectMeta, backend.Triggered(s.Service, s.Endpoints == nil, s.moved(was, next.Subsets)))
	return next, true
}

// labels are the service's, and what the endpoints are known by.
func (s Seen) labels() map[string]string {
	all := map[string]string{}
	maps.Copy(all, s.Service.Labels)
	delete(all, corev1.IsHeadlessService)
	if backend.IsHeadless(s.Service) {
		all[corev1.IsHeadlessService] = ""
	}
	all[managedBy] = manager
	return all
}

// moved are the pods that have come among those that are ready, or those that are not. One that is in no subset has not.
func (s Seen) moved(from, to []corev1.EndpointSubset) (moved []*corev1.Pod) {
	was, is := ready(from), ready(to)
	for _, p := range s.Pods {
		now, there := is[p.UID]
		if before, known := was[p.UID]; there && (!known || before != now) {
			moved = append(moved, p)
		}
	}
	return moved
}

// ready says of each pod that has an address whether it is among those that are ready.
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
