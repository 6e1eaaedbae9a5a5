//lint:file-ignore SA1019 Kubernetes still serves the deprecated Endpoints

package endpointslicemirroring

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/backend"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// managedBy identifies the controller's slices.
const managedBy = "endpointslicemirroring-controller.k8s.io"

// Input is what the controller has observed.
type Input struct {
	// Key is the namespace and name of the Endpoints and of their Service.
	Key controller.Request
	// Endpoints and Service are nil if they do not exist.
	Endpoints *corev1.Endpoints
	Service   *corev1.Service
	// Slices are the controller's slices of the Endpoints that are not being deleted.
	Slices []*discoveryv1.EndpointSlice
	// NameTaken reports whether a slice of the namespace has a name.
	NameTaken func(name string) bool
}

// Decide computes which slices to create, update and delete. Creations come first, so that no endpoint is missing in
// between. Before the first write, the server is asked whether the object on which the decision depends is unchanged.
func Decide(s Input) []action.Action {
	slices.SortFunc(s.Slices, func(a, b *discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	if check := s.notMirrored(); check != nil {
		return guarded(check, plan{deleted: s.Slices}.writes(s))
	}
	p, invalid, skipped := s.plan()
	return append(s.events(invalid, skipped), guarded(s.endpointsUnchanged(), p.writes(s))...)
}

// notMirrored returns nil if the Endpoints are mirrored. Otherwise it returns the check that the reason why they are
// not is still true on the server.
func (s Input) notMirrored() action.Action {
	switch {
	case s.Endpoints == nil:
		return action.Absent{Resource: sources, Namespace: s.Key.Namespace, Name: s.Key.Name}
	case s.Endpoints.Labels[discoveryv1.LabelSkipMirror] == "true" || s.usedForElection():
		return s.endpointsUnchanged()
	case s.Service == nil:
		return action.Absent{Resource: backend.Services, Namespace: s.Key.Namespace, Name: s.Key.Name}
	case len(s.Service.Spec.Selector) > 0: // controller endpointslice creates its slices
		return action.Unchanged[*corev1.Service]{Resource: backend.Services, Objects: []*corev1.Service{s.Service}}
	}
	return nil
}

func (s Input) usedForElection() bool {
	_, used := s.Endpoints.Annotations[backend.LeaderAnnotation]
	return used
}

func (s Input) endpointsUnchanged() action.Action {
	return action.Unchanged[*corev1.Endpoints]{Resource: sources, Objects: []*corev1.Endpoints{s.Endpoints}}
}

// guarded returns the writes, if there are any, preceded by a check.
func guarded(check action.Action, writes []action.Action) []action.Action {
	if len(writes) == 0 {
		return nil
	}
	return append([]action.Action{check}, writes...)
}

// events returns the events about addresses that are not mirrored. Skipped addresses include the invalid ones.
func (s Input) events(invalid, skipped int) (events []action.Action) {
	if invalid > 0 {
		events = append(events, action.Event{Object: s.Endpoints, Warning: true, Reason: "InvalidIPAddress",
			Message: fmt.Sprintf("Skipped %d invalid IP addresses when mirroring to EndpointSlices", invalid)})
	}
	if skipped > invalid {
		events = append(events, action.Event{Object: s.Endpoints, Warning: true, Reason: "TooManyAddressesToMirror",
			Message: fmt.Sprintf("A max of %d addresses can be mirrored to EndpointSlices per Endpoints subset. "+
				"%d addresses were skipped", maxAddresses, skipped)})
	}
	return events
}

// plan is a set of changes to slices. The slices in created and changed are new or copies.
type plan struct{ created, changed, deleted []*discoveryv1.EndpointSlice }

// plan plans the slices of the Endpoints, one per subset and address family, and returns the numbers of addresses that
// are invalid, and that are skipped because they are invalid or too many.
func (s Input) plan() (p plan, invalid, skipped int) {
	wanted, invalid, skipped := groups(s.Endpoints.Subsets)
	left := slices.Clone(s.Slices)
	for _, g := range wanted {
		i := slices.IndexFunc(left, g.fits)
		if i < 0 {
			p.created = append(p.created, s.apply(g, &discoveryv1.EndpointSlice{
				ObjectMeta:  metav1.ObjectMeta{GenerateName: s.Key.Name + "-", Namespace: s.Key.Namespace},
				AddressType: g.family,
			}))
			continue
		}
		if !s.matches(g, left[i]) {
			p.changed = append(p.changed, s.apply(g, left[i].DeepCopy()))
		}
		left = slices.Delete(left, i, i+1)
	}
	p.deleted = left
	return s.reuse(p), invalid, skipped
}

// reuse turns a deletion and a creation of the same address type into an update.
func (s Input) reuse(p plan) plan {
	var created []*discoveryv1.EndpointSlice
	for _, fresh := range p.created {
		i := slices.IndexFunc(p.deleted, func(old *discoveryv1.EndpointSlice) bool {
			return old.AddressType == fresh.AddressType
		})
		if i < 0 {
			created = append(created, fresh)
			continue
		}
		old := p.deleted[i].DeepCopy()
		p.changed = append(p.changed, s.apply(group{fresh.AddressType, fresh.Ports, fresh.Endpoints}, old))
		p.deleted = slices.Delete(p.deleted, i, i+1)
	}
	p.created = created
	return p
}

// apply sets the fields of a slice that this controller determines, and returns the slice.
func (s Input) apply(g group, slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	slice.Labels, slice.Annotations = s.labels(), s.annotations()
	slice.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.Endpoints,
		corev1.SchemeGroupVersion.WithKind("Endpoints"))}
	slice.Ports, slice.Endpoints = g.ports, g.endpoints
	return slice
}

// matches reports whether a slice with the ports of a group is as apply would make it.
func (s Input) matches(g group, slice *discoveryv1.EndpointSlice) bool {
	return metav1.IsControlledBy(slice, s.Endpoints) && maps.Equal(slice.Labels, s.labels()) &&
		maps.Equal(slice.Annotations, s.annotations()) && sameEndpoints(slice.Endpoints, g.endpoints)
}

// labels returns the labels of the Endpoints and the controller's own.
func (s Input) labels() map[string]string {
	all := map[string]string{}
	maps.Copy(all, s.Endpoints.Labels)
	all[discoveryv1.LabelServiceName] = s.Key.Name
	all[discoveryv1.LabelManagedBy] = managedBy
	return all
}

// annotations returns the annotations of the Endpoints without those that describe the Endpoints object itself.
func (s Input) annotations() map[string]string {
	all := map[string]string{}
	maps.Copy(all, s.Endpoints.Annotations)
	delete(all, corev1.EndpointsLastChangeTriggerTime)
	delete(all, corev1.LastAppliedConfigAnnotation)
	return all
}

// sameEndpoints reports whether two lists have the same endpoints in any order. It ignores two fields: the resource
// version of the target, which is different after each write of the pod, and hints, which another client may have set.
func sameEndpoints(a, b []discoveryv1.Endpoint) bool {
	if len(a) != len(b) {
		return false
	}
	byKey := map[string]discoveryv1.Endpoint{}
	for _, e := range a {
		byKey[backend.EndpointKey(&e)] = essential(e)
	}
	for _, e := range b {
		other, ok := byKey[backend.EndpointKey(&e)]
		if !ok || !equality.Semantic.DeepEqual(other, essential(e)) {
			return false
		}
	}
	return true
}

// essential returns an endpoint without the fields that sameEndpoints ignores.
func essential(e discoveryv1.Endpoint) discoveryv1.Endpoint {
	e.Hints = nil
	if e.TargetRef != nil {
		ref := *e.TargetRef
		ref.ResourceVersion = ""
		e.TargetRef = &ref
	}
	return e
}

// writes returns the writes of a plan. Endpoints that are being deleted get no new slices.
func (p plan) writes(s Input) (writes []action.Action) {
	if len(p.created) > 0 && s.Endpoints.DeletionTimestamp == nil {
		writes = p.creations(s)
	}
	for _, slice := range p.changed {
		writes = append(writes, action.Update[*discoveryv1.EndpointSlice]{Resource: mirrors, Object: slice})
	}
	for _, slice := range p.deleted {
		writes = append(writes, action.Delete[*discoveryv1.EndpointSlice]{Resource: mirrors, Object: slice,
			IfUnchanged: true})
	}
	return writes
}

// creations creates the new slices, under the first names of the Endpoints that no slice has.
func (p plan) creations(s Input) (writes []action.Action) {
	n := 0
	for _, slice := range p.created {
		for slice.Name = pods.Name(s.Endpoints, n); s.NameTaken(slice.Name); slice.Name = pods.Name(s.Endpoints, n) {
			n++
		}
		n++
		writes = append(writes, action.Create[*discoveryv1.EndpointSlice]{Resource: mirrors, Object: slice})
	}
	return writes
}
