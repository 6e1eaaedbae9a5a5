package discovery

import (
	"cmp"
	"slices"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/version"

	"github.com/bowline-dev/bowline/internal/kind"
)

// served holds the groups of one state of the registry and of the aggregated servers, in the order of the documents.
type served struct {
	generation uint64
	remotes    *Remotes
	groups     []*group
	byName     map[string]*group
}

// group is an API group. The parts of documents made from it are reused as long as its kinds and remote versions are
// the same, so that a change of one group does not affect the others.
type group struct {
	name     string
	priority int
	kinds    []kind.Kind
	remotes  []*Remote
	versions []groupVersion // the preferred one first

	aggregated *apidiscovery.APIGroupDiscovery
	text       []byte // the aggregated form as JSON
}

// groupVersion is a version with its kinds, by their plural names, or one that another server serves.
type groupVersion struct {
	name     string
	priority int
	entries  []kind.Entry
	remote   *Remote
}

// newServed sorts kinds and remote versions into groups. Groups of an older state, which may be nil, are reused if they
// consist of the same.
func newServed(generation uint64, kinds []kind.Kind, remotes *Remotes, older *served) *served {
	s := &served{generation: generation, remotes: remotes, byName: map[string]*group{}}
	for _, k := range kinds {
		for _, e := range k.Info().Endpoints {
			if e.Unserved {
				continue
			}
			g := s.group(e.Group)
			if len(g.kinds) == 0 || g.kinds[len(g.kinds)-1] != k {
				g.kinds = append(g.kinds, k)
			}
		}
	}
	for _, r := range remotes.Versions {
		g := s.group(r.Group)
		g.remotes = append(g.remotes, r)
		g.priority = max(g.priority, r.GroupPriority)
	}
	for name, g := range s.byName {
		if older != nil && older.byName[name] != nil && older.byName[name].consistsOf(g) {
			g = older.byName[name]
			s.byName[name] = g
		} else {
			g.fill()
		}
		s.groups = append(s.groups, g)
	}
	slices.SortFunc(s.groups, func(a, b *group) int {
		return cmp.Or(b.priority-a.priority, cmp.Compare(a.name, b.name))
	})
	return s
}

// group returns the group of that name. It adds the group on first use.
func (s *served) group(name string) *group {
	if s.byName[name] == nil {
		s.byName[name] = &group{name: name, priority: GroupPriority(name)}
	}
	return s.byName[name]
}

// consistsOf reports whether two groups have the same kinds and remote versions.
func (g *group) consistsOf(other *group) bool {
	return slices.Equal(g.kinds, other.kinds) && slices.Equal(g.remotes, other.remotes)
}

// fill sorts the group's kinds into versions, in Kubernetes' order: by priority, and then v2, v1, v1beta1. A version of
// another server has the resources of that server only.
func (g *group) fill() {
	for _, r := range g.remotes {
		g.versions = append(g.versions, groupVersion{name: r.Version, priority: r.VersionPriority, remote: r})
	}
	for _, k := range g.kinds {
		for i := range k.Info().Endpoints {
			e := &k.Info().Endpoints[i]
			if e.Unserved || e.Group != g.name {
				continue
			}
			at := slices.IndexFunc(g.versions, func(v groupVersion) bool { return v.name == e.Version })
			if at < 0 {
				at = len(g.versions)
				g.versions = append(g.versions,
					groupVersion{name: e.Version, priority: VersionPriority(e.Group, e.Version)})
			}
			if g.versions[at].remote == nil {
				g.versions[at].entries = append(g.versions[at].entries, kind.Entry{Kind: kind.In(k, e), Endpoint: e})
			}
		}
	}
	for _, v := range g.versions {
		slices.SortFunc(v.entries, func(a, b kind.Entry) int {
			return cmp.Compare(a.Kind.Info().Plural, b.Kind.Info().Plural)
		})
	}
	slices.SortFunc(g.versions, func(a, b groupVersion) int {
		return cmp.Or(b.priority-a.priority, version.CompareKubeAwareVersionStrings(b.name, a.name))
	})
}

// find returns the group of a path, and the kinds of its version if it names one.
func (s *served) find(p path) (g *group, entries []kind.Entry, ok bool) {
	g = s.byName[p.group]
	if g == nil || p.version == "" {
		return g, nil, g != nil
	}
	for _, v := range g.versions {
		if v.name == p.version {
			return g, v.entries, true
		}
	}
	return g, nil, false
}

// isCustom reports whether a kind was made from a definition.
func isCustom(k kind.Kind) bool {
	return !k.Info().Builtin
}
