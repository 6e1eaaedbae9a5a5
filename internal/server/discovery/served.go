package discovery

import (
	"cmp"
	"slices"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/version"

	"github.com/bowline-dev/bowline/internal/kind"
)

// served holds the groups of one state of the registry, in the order of the documents.
type served struct {
	generation uint64
	groups     []*group
	byName     map[string]*group
}

// group is an API group. The parts of documents made from it are reused as long as its kinds are the same, so
// that a change of one group does not affect the others.
type group struct {
	name     string
	rank     int
	kinds    []kind.Kind
	versions []groupVersion // the preferred one first

	aggregated *apidiscovery.APIGroupDiscovery
	text       []byte // the aggregated form as JSON
}

// groupVersion is a version with its kinds, by their plural names.
type groupVersion struct {
	name    string
	entries []kind.Entry
}

// newServed sorts kinds into groups. Groups of an older state, which may be nil, are reused if their kinds
// are the same.
func newServed(generation uint64, kinds []kind.Kind, older *served) *served {
	s := &served{generation: generation, byName: map[string]*group{}}
	for _, k := range kinds {
		for _, e := range k.Info().Endpoints {
			g := s.byName[e.Group]
			if e.Unserved || g != nil && g.kinds[len(g.kinds)-1] == k {
				continue
			}
			if g == nil {
				g = &group{name: e.Group, rank: rank(e.Group)}
				s.byName[e.Group] = g
			}
			g.kinds = append(g.kinds, k)
		}
	}
	for name, g := range s.byName {
		if older != nil && older.byName[name] != nil && slices.Equal(older.byName[name].kinds, g.kinds) {
			g = older.byName[name]
			s.byName[name] = g
		} else {
			g.fill()
		}
		s.groups = append(s.groups, g)
	}
	slices.SortFunc(s.groups, func(a, b *group) int { return cmp.Or(a.rank-b.rank, cmp.Compare(a.name, b.name)) })
	return s
}

// fill sorts the group's kinds into versions, in Kubernetes' order: v2, v1, v1beta1.
func (g *group) fill() {
	for _, k := range g.kinds {
		for i := range k.Info().Endpoints {
			e := &k.Info().Endpoints[i]
			if e.Unserved || e.Group != g.name {
				continue
			}
			at := slices.IndexFunc(g.versions, func(v groupVersion) bool { return v.name == e.Version })
			if at < 0 {
				at = len(g.versions)
				g.versions = append(g.versions, groupVersion{name: e.Version})
			}
			g.versions[at].entries = append(g.versions[at].entries, kind.Entry{Kind: kind.In(k, e), Endpoint: e})
		}
	}
	for _, v := range g.versions {
		slices.SortFunc(v.entries, func(a, b kind.Entry) int {
			return cmp.Compare(a.Kind.Info().Plural, b.Kind.Info().Plural)
		})
	}
	slices.SortFunc(g.versions, func(a, b groupVersion) int {
		return version.CompareKubeAwareVersionStrings(b.name, a.name)
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
