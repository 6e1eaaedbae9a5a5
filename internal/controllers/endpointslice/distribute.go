package endpointslice

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/bowline-dev/bowline/internal/controllers/internal/backend"
)

// maxEndpoints limits the endpoints of a slice. A changed slice is sent to every node, which favors small slices; on
// the other hand, fewer slices have less overhead.
const maxEndpoints = 100

// distribute distributes the endpoints of a group over slices. Endpoints stay in their slice; new ones go to
// slices that change anyway, or to the slice that they fill best, and the rest to new slices.
func (s Input) distribute(g *group) (p plan) {
	if len(g.wanted) == 0 {
		p.deleted = g.slices
		return p
	}
	left := map[string]wanted{}
	for _, w := range g.wanted {
		left[backend.EndpointKey(&w.Endpoint)] = w
	}
	var drafts []*draft
	for _, slice := range g.slices {
		d := s.retain(slice, left, &p)
		if d.changed && len(d.endpoints) == 0 {
			p.deleted = append(p.deleted, slice)
			continue
		}
		drafts = append(drafts, d)
	}
	rest := make([]wanted, 0, len(left))
	for _, key := range slices.Sorted(maps.Keys(left)) {
		rest = append(rest, left[key])
		p.pods = append(p.pods, left[key].pod)
	}
	p.created = s.place(g, rest, drafts)
	for _, d := range drafts {
		if d.changed {
			p.changed = append(p.changed, d.slice(s.labels()))
		}
	}
	return p
}

// draft is the new state of a slice.
type draft struct {
	base      *discoveryv1.EndpointSlice
	endpoints []discoveryv1.Endpoint
	changed   bool
}

// retain returns the draft of a slice with the endpoints that it has and should have, in their new form, and
// removes them from left.
func (s Input) retain(slice *discoveryv1.EndpointSlice, left map[string]wanted, p *plan) *draft {
	d := &draft{base: slice, changed: !maps.Equal(slice.Labels, s.labels())}
	for i := range slice.Endpoints {
		previous := &slice.Endpoints[i]
		key := backend.EndpointKey(previous)
		w, desired := left[key]
		if !desired {
			d.changed = true
			continue
		}
		delete(left, key)
		w.Hints = previous.Hints
		if !equality.Semantic.DeepEqual(w.Endpoint, *previous) {
			d.changed = true
			p.pods = append(p.pods, changedPod(w, previous)...)
		}
		d.endpoints = append(d.endpoints, w.Endpoint)
	}
	return d
}

// changedPod returns the pod if its endpoint's serving condition changes.
func changedPod(w wanted, previous *discoveryv1.Endpoint) []*corev1.Pod {
	if previous.Conditions.Serving != nil && *previous.Conditions.Serving == *w.Conditions.Serving {
		return nil
	}
	return []*corev1.Pod{w.pod}
}

// place adds endpoints to drafts that change anyway, the fullest first. If one unchanged draft has room for
// all that are left, they go to the one that they fill best, and otherwise to new slices.
func (s Input) place(g *group, rest []wanted, drafts []*draft) (created []*discoveryv1.EndpointSlice) {
	byLength := slices.Clone(drafts)
	slices.SortStableFunc(byLength, func(a, b *draft) int { return -cmp.Compare(len(a.endpoints), len(b.endpoints)) })
	for _, d := range byLength {
		if d.changed {
			rest = d.fill(rest)
		}
	}
	for len(rest) > 0 {
		i := slices.IndexFunc(byLength, func(d *draft) bool {
			return !d.changed && len(d.endpoints)+len(rest) <= maxEndpoints
		})
		if i >= 0 {
			rest = byLength[i].fill(rest)
			continue
		}
		fresh := &draft{}
		rest = fresh.fill(rest)
		slice := s.empty(discoveryv1.AddressType(g.family), g.ports)
		slice.Endpoints = fresh.endpoints
		created = append(created, slice)
	}
	return created
}

// fill adds as many endpoints as there is room for, and returns the rest.
func (d *draft) fill(rest []wanted) []wanted {
	n := min(len(rest), maxEndpoints-len(d.endpoints))
	for _, w := range rest[:max(n, 0)] {
		d.endpoints = append(d.endpoints, w.Endpoint)
		d.changed = true
	}
	return rest[max(n, 0):]
}

// slice returns an updated copy of the slice.
func (d *draft) slice(labels map[string]string) *discoveryv1.EndpointSlice {
	next := d.base.DeepCopy()
	next.Labels, next.Endpoints = labels, d.endpoints
	return next
}
