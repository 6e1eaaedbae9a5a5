package endpointslice

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/backend"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// managedBy identifies the controller's slices.
const managedBy = "endpointslice-controller.k8s.io"

// Input is what the controller has observed.
type Input struct {
	Service *corev1.Service
	// Pods are the pods that the service selects, sorted by name.
	Pods []*corev1.Pod
	// Slices are the controller's slices of the service that are not being deleted.
	Slices []*discoveryv1.EndpointSlice
	// Node returns a node by name, or nil.
	Node func(name string) *corev1.Node
	// NameTaken reports whether a slice of the namespace has a name.
	NameTaken func(name string) bool
}

// Decide computes which slices to create, update and delete. Creations come first, so that no endpoint is
// missing in between.
func Decide(s Input) (actions []action.Action) {
	slices.SortFunc(s.Slices, func(a, b *discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	var all plan
	remaining := s.Slices
	for _, family := range backend.Families(s.Service) {
		existing := ofType(s.Slices, discoveryv1.AddressType(family))
		remaining = slices.DeleteFunc(slices.Clone(remaining), func(e *discoveryv1.EndpointSlice) bool {
			return slices.Contains(existing, e)
		})
		all.add(s.planFamily(family, existing))
	}
	all.deleted = append(all.deleted, remaining...) // of IP families that the service no longer has
	actions = all.actions(s)
	if missing := s.missingNodes(); missing != nil {
		actions = append(actions, action.Event{
			Object: s.Service, Warning: true, Reason: reasonFailed,
			Message: failureMessage(s.Service) + missing.Error(),
		})
	}
	return actions
}

// missingNodes returns an error that lists the pods whose node does not exist, and nil if there are none.
func (s Input) missingNodes() error {
	var all []error
	for _, pod := range s.Pods {
		if backend.Reachable(pod) && !s.Service.Spec.PublishNotReadyAddresses && s.Node(pod.Spec.NodeName) == nil {
			all = append(all, fmt.Errorf("skipping Pod %s for Service %s/%s: Node %s Not Found",
				pod.Name, s.Service.Namespace, s.Service.Name, pod.Spec.NodeName))
		}
	}
	return utilerrors.NewAggregate(all) // formats several errors as Kubernetes does
}

// ofType returns the slices of an address type.
func ofType(all []*discoveryv1.EndpointSlice, t discoveryv1.AddressType) (found []*discoveryv1.EndpointSlice) {
	for _, slice := range all {
		if slice.AddressType == t {
			found = append(found, slice)
		}
	}
	return found
}

// plan is a set of changes to slices. The slices in created and changed are copies.
type plan struct {
	created, changed, deleted []*discoveryv1.EndpointSlice
	// pods are the pods whose endpoints change.
	pods []*corev1.Pod
}

func (p *plan) add(o plan) {
	p.created, p.changed, p.deleted = append(p.created, o.created...), append(p.changed, o.changed...),
		append(p.deleted, o.deleted...)
	p.pods = append(p.pods, o.pods...)
}

// planFamily plans the slices of one IP family. Endpoints are distributed among the slices with equal ports.
func (s Input) planFamily(family corev1.IPFamily, existing []*discoveryv1.EndpointSlice) (p plan) {
	groups := s.groups(family)
	for _, slice := range existing {
		if !metav1.IsControlledBy(slice, s.Service) {
			p.deleted = append(p.deleted, slice) // of an earlier service of the same name
			continue
		}
		g := groups.byPort[backend.PortsKey(slice.Ports)]
		if g == nil {
			p.deleted = append(p.deleted, slice)
			continue
		}
		g.slices = append(g.slices, slice)
	}
	for _, g := range groups.all {
		p.add(s.distribute(g))
	}
	if len(p.created) == 0 && len(p.deleted) == len(existing) {
		p = s.retainOne(p, discoveryv1.AddressType(family))
	}
	return s.hint(p, existing)
}

// retainOne retains or adds one empty slice for a service without endpoints.
func (s Input) retainOne(p plan, t discoveryv1.AddressType) plan {
	if len(p.deleted) == 1 {
		only := p.deleted[0]
		if len(only.Endpoints) == 0 && len(only.Ports) == 0 && metav1.IsControlledBy(only, s.Service) &&
			maps.Equal(only.Labels, s.labels()) {
			p.deleted = nil
			return p
		}
	}
	p.created = append(p.created, s.empty(t, nil))
	return p
}

// labels returns the service's labels and the controller's own.
func (s Input) labels() map[string]string {
	all := maps.Clone(s.Service.Labels)
	if all == nil {
		all = map[string]string{}
	}
	delete(all, corev1.IsHeadlessService)
	if backend.IsHeadless(s.Service) {
		all[corev1.IsHeadlessService] = ""
	}
	all[discoveryv1.LabelServiceName] = s.Service.Name
	all[discoveryv1.LabelManagedBy] = managedBy
	return all
}

// empty returns a new slice without endpoints. It is named when it is created.
func (s Input) empty(t discoveryv1.AddressType, ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: s.Service.Name + "-", Namespace: s.Service.Namespace, Labels: s.labels(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.Service,
				corev1.SchemeGroupVersion.WithKind("Service"))},
		},
		AddressType: t, Ports: ports,
	}
}

// actions returns the actions of a plan. A slice that would be deleted is reused for one that would be
// created. Before deletions, the server is asked whether the service is unchanged: the slices may belong to a
// new service of the same name. A service that is being deleted gets no new slices.
func (p plan) actions(s Input) (actions []action.Action) {
	p = p.reuse(s.Service)
	if len(p.deleted) > 0 {
		actions = append(actions, action.Unchanged[*corev1.Service]{Resource: backend.Services,
			Objects: []*corev1.Service{s.Service}})
	}
	triggered := backend.TriggerTime(s.Service, len(s.Slices) == 0, p.pods)
	if s.Service.DeletionTimestamp == nil {
		actions = append(actions, p.creations(s, triggered)...)
	}
	for _, slice := range p.changed {
		backend.SetTriggerTime(&slice.ObjectMeta, triggered)
		actions = append(actions, action.Update[*discoveryv1.EndpointSlice]{Resource: resource, Object: slice})
	}
	for _, slice := range p.deleted {
		actions = append(actions, action.Delete[*discoveryv1.EndpointSlice]{Resource: resource, Object: slice,
			IfUnchanged: true})
	}
	return actions
}

// creations creates the new slices, under the service's first names that no slice has.
func (p plan) creations(s Input, triggered time.Time) (actions []action.Action) {
	n := 0
	for _, slice := range p.created {
		for slice.Name = pods.Name(s.Service, n); s.NameTaken(slice.Name); slice.Name = pods.Name(s.Service, n) {
			n++
		}
		n++
		backend.SetTriggerTime(&slice.ObjectMeta, triggered)
		actions = append(actions, action.Create[*discoveryv1.EndpointSlice]{Resource: resource, Object: slice})
	}
	return actions
}

// reuse turns a deletion and a creation of the same address type into an update.
func (p plan) reuse(service *corev1.Service) plan {
	var created []*discoveryv1.EndpointSlice
	for _, fresh := range p.created {
		i := slices.IndexFunc(p.deleted, func(old *discoveryv1.EndpointSlice) bool {
			return old.AddressType == fresh.AddressType && metav1.IsControlledBy(old, service)
		})
		if i < 0 {
			created = append(created, fresh)
			continue
		}
		old := p.deleted[i].DeepCopy()
		old.Labels, old.Ports, old.Endpoints = fresh.Labels, fresh.Ports, fresh.Endpoints
		p.changed = append(p.changed, old)
		p.deleted = slices.Delete(slices.Clone(p.deleted), i, i+1)
	}
	p.created = created
	return p
}
