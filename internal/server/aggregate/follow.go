package aggregate

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/discovery"
	"github.com/bowline-dev/bowline/internal/server/openapi"
)

var (
	resource       = apiregistrationv1.SchemeGroupVersion.WithResource("apiservices")
	services       = schema.GroupResource{Resource: "services"}
	endpointSlices = schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"}
)

const (
	// settle is how long follow waits after a change, so that changes in quick succession cost one round.
	settle = 20 * time.Millisecond
	// retryAfter is when a write that failed is tried again.
	retryAfter = time.Second
)

// follow keeps the APIServices of this server and the backends up to date until ctx ends. Each round reads the whole
// state; a change only triggers a round.
func (a *Aggregator) follow(ctx context.Context) {
	for {
		withBackends := len(a.backends) > 0
		changes := a.subscribe(withBackends)
		failed := a.round(ctx)
		if !failed && len(a.backends) > 0 != withBackends {
			continue
		}
		timer := time.NewTimer(retryAfter)
		if !failed {
			timer.Stop()
		}
		select {
		case <-changes.registry:
		case <-changes.apiServices:
		case <-changes.services:
		case <-changes.endpointSlices:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Reset(settle)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// changes are channels that are closed at the next change; nil for what does not matter.
type changes struct{ registry, apiServices, services, endpointSlices <-chan struct{} }

// subscribe returns the changes from now on. Those of Services matter only if there are backends.
func (a *Aggregator) subscribe(withBackends bool) (c changes) {
	c.registry = a.o.Kinds.Changed()
	c.apiServices = a.changesOf(resource.GroupResource())
	if withBackends {
		c.services, c.endpointSlices = a.changesOf(services), a.changesOf(endpointSlices)
	}
	return c
}

// changesOf returns the changes of a resource; nil after an error, which it logs.
func (a *Aggregator) changesOf(gr schema.GroupResource) <-chan struct{} {
	changed, err := a.o.Reader.Changes(gr)
	if err != nil {
		a.o.Log.Error("changes of a resource cannot be followed; aggregated servers may be outdated", "resource", gr,
			"error", err)
	}
	return changed
}

// round reads the state once, and reports whether it must be repeated after an error.
func (a *Aggregator) round(ctx context.Context) (failed bool) {
	all, err := a.list(ctx)
	if err != nil {
		a.o.Log.Error("the APIServices cannot be read; trying again", "error", err)
		return true
	}
	if !a.o.LeaveLocal {
		failed = a.repair(ctx, all)
	}
	return a.updateBackends(ctx, all) || failed
}

// list returns all APIServices by name. They are shared and must not be changed.
func (a *Aggregator) list(ctx context.Context) (map[string]*apiregistrationv1.APIService, error) {
	all := map[string]*apiregistrationv1.APIService{}
	err := a.o.Reader.List(ctx, resource.GroupResource(), "", func(obj kind.Object) bool {
		if s, ok := obj.(*apiregistrationv1.APIService); ok { // a definition of an older server may be in its place
			all[s.Name] = s
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// updateBackends starts, replaces and stops backends so that they fit the APIServices, and tells each what its Service
// looks like. It reports whether a Service could not be read.
func (a *Aggregator) updateBackends(ctx context.Context, all map[string]*apiregistrationv1.APIService) (failed bool) {
	builtin := a.builtinVersions()
	replaced := map[string]*Backend{}
	for name, b := range a.backends {
		s := all[name]
		if s == nil || !isRemote(s, builtin) || s.UID != b.service.UID ||
			!reflect.DeepEqual(s.Spec, b.service.Spec) {
			b.stop()
			delete(a.backends, name)
			replaced[name] = b
		}
	}
	table := make(map[schema.GroupVersion]*Backend, len(a.backends))
	for name, s := range all {
		if !isRemote(s, builtin) {
			continue
		}
		b := a.backends[name]
		isNew := b == nil
		if isNew {
			b = a.newBackend(s, replaced[name])
			a.backends[name] = b
		}
		found, err := a.look(ctx, s)
		if err != nil {
			a.o.Log.Error("the service of an aggregated API server cannot be read", "APIService", name, "error", err)
			failed = true
		}
		b.sees(found)
		if isNew {
			b.start()
		}
		table[b.version] = b
	}
	if len(table)+len(*a.table.Load()) > 0 {
		a.table.Store(&table)
		a.publish()
	}
	return failed
}

// isRemote reports whether requests for the group version of an APIService are forwarded. Those of the built-in kinds
// are not: a mistake in an APIService must not take away the API that corrects it.
func isRemote(s *apiregistrationv1.APIService, builtin map[schema.GroupVersion]bool) bool {
	return s.Spec.Service != nil && s.Spec.Group != "" &&
		!builtin[schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version}]
}

// publish updates the documents from what the servers answered last.
func (a *Aggregator) publish() {
	a.publishing.Lock()
	defer a.publishing.Unlock()
	remotes, documents := &discovery.Remotes{}, &openapi.Remotes{}
	for _, b := range *a.table.Load() {
		answer := b.answer.Load()
		remotes.Versions = append(remotes.Versions, answer.remote)
		if answer.document != nil {
			documents.Documents = append(documents.Documents, answer.document)
		}
	}
	slices.SortFunc(remotes.Versions, func(a, b *discovery.Remote) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version))
	})
	slices.SortFunc(documents.Documents, func(a, b *openapi.Remote) int { return cmp.Compare(a.Path, b.Path) })
	if !slices.Equal(remotes.Versions, a.remotes.Load().Versions) {
		a.remotes.Store(remotes)
	}
	if !slices.Equal(documents.Documents, a.documents.Load().Documents) {
		a.documents.Store(documents)
	}
}
