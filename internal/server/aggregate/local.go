package aggregate

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/discovery"
)

// managed is the label of the APIServices that the server keeps for its own group versions. As in Kubernetes, its value
// tells whether it does so at its start or at all times.
const managed = "kube-aggregator.kubernetes.io/automanaged"

// Initial returns the APIServices of the built-in group versions.
func Initial(kinds *kind.Registry) []kind.Initial {
	var initial []kind.Initial
	for _, s := range localServices(kinds) {
		if s.Labels[managed] == "onstart" {
			initial = append(initial, kind.Initial{Object: s})
		}
	}
	return initial
}

// localServices returns the APIServices of the group versions that this server serves itself, by name.
func localServices(kinds *kind.Registry) []*apiregistrationv1.APIService {
	at := map[schema.GroupVersion]int{}
	var all []*apiregistrationv1.APIService
	for _, k := range kinds.Kinds() {
		info := k.Info()
		for i := range info.Endpoints {
			e := &info.Endpoints[i]
			if e.Unserved || e.Group == apiregistrationv1.GroupName {
				continue
			}
			if n, found := at[e.GroupVersion()]; found {
				if info.Builtin {
					all[n].Labels[managed] = "onstart"
				}
				continue
			}
			at[e.GroupVersion()] = len(all)
			all = append(all, localService(e.GroupVersion(), info.Builtin))
		}
	}
	return all
}

func localService(gv schema.GroupVersion, builtin bool) *apiregistrationv1.APIService {
	when := "true"
	if builtin {
		when = "onstart"
	}
	return &apiregistrationv1.APIService{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiregistrationv1.SchemeGroupVersion.String(), Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{Name: gv.Version + "." + gv.Group, Labels: map[string]string{managed: when}},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: gv.Group, Version: gv.Version,
			GroupPriorityMinimum: int32(discovery.GroupPriority(gv.Group)),
			VersionPriority:      int32(discovery.VersionPriority(gv.Group, gv.Version)),
		},
	}
}

// builtinVersions returns the group versions of the built-in kinds.
func (a *Aggregator) builtinVersions() map[schema.GroupVersion]bool {
	builtin := map[schema.GroupVersion]bool{}
	for _, k := range a.o.Kinds.Kinds() {
		info := k.Info()
		for i := range info.Endpoints {
			if e := &info.Endpoints[i]; info.Builtin && !e.Unserved {
				builtin[e.GroupVersion()] = true
			}
		}
	}
	return builtin
}

// Reconcile creates and deletes the APIServices of a group whose kinds have changed.
func (a *Aggregator) Reconcile(ctx context.Context, group string) {
	a.local.Lock()
	defer a.local.Unlock()
	wanted := map[string]bool{}
	for _, s := range localServices(a.o.Kinds) {
		if s.Spec.Group != group {
			continue
		}
		wanted[s.Name] = true
		if !a.kept[s.Name] {
			a.keep(ctx, s)
		}
	}
	for name := range a.kept {
		if _, of, _ := strings.Cut(name, "."); of == group && !wanted[name] {
			a.withdraw(ctx, name)
		}
	}
}

// repair creates and corrects the APIServices of this server's own group versions, and deletes those of group versions
// that it no longer serves. One that a user has created for such a group version, without the label, is left alone.
func (a *Aggregator) repair(ctx context.Context, all map[string]*apiregistrationv1.APIService) (failed bool) {
	a.local.Lock()
	defer a.local.Unlock()
	wanted := map[string]bool{}
	for _, s := range localServices(a.o.Kinds) {
		wanted[s.Name] = true
		has := all[s.Name]
		if has == nil || isManaged(has) && !hasSpec(has, s) {
			failed = a.keep(ctx, s) != nil || failed
		}
		a.kept[s.Name] = true
	}
	for name, has := range all {
		if isManaged(has) && !wanted[name] {
			failed = a.withdraw(ctx, name) != nil || failed
		}
	}
	return failed
}

// keep creates or corrects an APIService of this server. The caller holds local.
func (a *Aggregator) keep(ctx context.Context, s *apiregistrationv1.APIService) error {
	_, err := a.o.Ensure(ctx, kind.Initial{Object: s, Correct: func(obj kind.Object) bool {
		stored := obj.(*apiregistrationv1.APIService)
		if !isManaged(stored) || hasSpec(stored, s) {
			return false
		}
		stored.Spec = s.Spec
		return true
	}})
	if err != nil {
		a.o.Log.Error("an APIService of this server cannot be written", "APIService", s.Name, "error", err)
		return err
	}
	a.kept[s.Name] = true
	return nil
}

// withdraw deletes an APIService of this server. The caller holds local.
func (a *Aggregator) withdraw(ctx context.Context, name string) error {
	version, group, _ := strings.Cut(name, ".")
	s := localService(schema.GroupVersion{Group: group, Version: version}, false)
	err := a.o.Withdraw(ctx, kind.Initial{Object: s}, func(obj kind.Object) bool {
		return isManaged(obj.(*apiregistrationv1.APIService))
	})
	if err != nil {
		a.o.Log.Error("an APIService that this server no longer serves cannot be deleted", "APIService", name, "error", err)
		return err
	}
	delete(a.kept, name)
	return nil
}

func isManaged(s *apiregistrationv1.APIService) bool { return s.Labels[managed] != "" }

// hasSpec reports whether a is an APIService of this server with the priorities of b.
func hasSpec(a, b *apiregistrationv1.APIService) bool {
	return a.Spec.Service == nil && a.Spec.GroupPriorityMinimum == b.Spec.GroupPriorityMinimum &&
		a.Spec.VersionPriority == b.Spec.VersionPriority
}

// unlessOutdated returns an error unless it means that another writer was faster.
func unlessOutdated(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
