package endpointslice

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// most is how many endpoints the controller puts into a slice. A slice is sent to every node when one of its endpoints changes, so
// that small ones are cheaper, and few of them are.
const most = 100

// share puts the endpoints of a group into slices: those that are in one stay there, the others go where something changes
// anyhow, or where they fit best, and the rest into new slices.
func (s Seen) share(g *group) (p plan) {
	if len(g.wanted) == 0 {
		p.deleted = g.slices
		return p
	}
	left := map[string]wanted{}
	for _, w := range g.wanted {
		left[identity(&w.Endpoint)] = w
	}
	var drafts []*draft
	for _, slice := range g.slices {
		d := s.keep(slice, left, &p)
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
	p.made = s.place(g, rest, drafts)
	for _, d := range drafts {
		if d.changed {
			p.changed = append(p.changed, d.slice(s.labels()))
		}
	}
	return p
}

// identity tells endpoints apart: what else changes of one is changed in its place.
func identity(e *discoveryv1.Endpoint) string {
	addresses := slices.Sorted(slices.Values(e.Addresses))
	name := ""
	if e.TargetRef != nil {
		name = e.TargetRef.Namespace + "/" + e.TargetRef.Name
	}
	return name + " " + text(e.Hostname) + " " + strings.Join(addresses, " ")
}

// draft is what becomes of a slice.
type draft struct {
	of        *discoveryv1.EndpointSlice
	endpoints []discoveryv1.Endpoint
	changed   bool
}

// keep takes what a slice has and is wanted out of what is left to place, as it should be now.
func (s Seen) keep(slice *discoveryv1.EndpointSlice, left map[string]wanted, p *plan) *draft {
	d := &draft{of: slice, changed: !maps.Equal(slice.Labels, s.labels())}
	for i := range slice.Endpoints {
		was := &slice.Endpoints[i]
		key := identity(was)
		w, stays := left[key]
		if !stays {
			d.changed = true
			continue
		}
		delete(left, key)
		w.Hints = was.Hints
		if !equality.Semantic.DeepEqual(w.Endpoint, *was) {
			d.changed = true
			p.pods = append(p.pods, changedPod(w, was)...)
		}
		d.endpoints = append(d.endpoints, w.Endpoint)
	}
	return d
}

// changedPod is the pod of an endpoint that serves now and did not, or the other way.
func changedPod(w wanted, was *discoveryv1.Endpoint) []*corev1.Pod {
	if was.Conditions.Serving != nil && *was.Conditions.Serving == *w.Conditions.Serving {
		return nil
	}
	return []*corev1.Pod{w.pod}
}

// place puts endpoints into slices that change, the fullest first; then, if one has room for all that are left, into the slice that
// they fill best; then into new ones.
func (s Seen) place(g *group, rest []wanted, drafts []*draft) (made []*discoveryv1.EndpointSlice) {
	byLength := slices.Clone(drafts)
	slices.SortStableFunc(byLength, func(a, b *draft) int { return -cmp.Compare(len(a.endpoints), len(b.endpoints)) })
	for _, d := range byLength {
		if d.changed {
			rest = d.fill(rest)
		}
	}
	for len(rest) > 0 {
		i := slices.IndexFunc(byLength, func(d *draft) bool { return !d.changed && len(d.endpoints)+len(rest) <= most })
		if i >= 0 {
			rest = byLength[i].fill(rest)
			continue
		}
		fresh := &draft{}
		rest = fresh.fill(rest)
		slice := s.empty(discoveryv1.AddressType(g.family), g.ports)
		slice.Endpoints = fresh.endpoints
		made = append(made, slice)
	}
	return made
}

// fill adds what there is room for; the result is the rest.
func (d *draft) fill(rest []wanted) []wanted {
	n := min(len(rest), most-len(d.endpoints))
	for _, w := range rest[:max(n, 0)] {
		d.endpoints = append(d.endpoints, w.Endpoint)
		d.changed = true
	}
	return rest[max(n, 0):]
}

// slice is a copy of the slice as it should be.
func (d *draft) slice(labels map[string]string) *discoveryv1.EndpointSlice {
	next := d.of.DeepCopy()
	next.Labels, next.Endpoints = labels, d.endpoints
	return next
}
