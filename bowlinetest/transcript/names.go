package transcript

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// aliases are what generated names, and the addresses that simulated nodes give to pods, are called.
type aliases struct {
	of    map[string]string
	made  map[string]int
	names []string // the longest first
}

// note gives generated names their numbers: those of one command by name, so that where two are alike and a controller takes the
// first one by name it is the same one each time. Names that only begin like that, as those of a StatefulSet's pods, need none.
func (a *aliases) note(objects []object) {
	for _, obj := range objects {
		prefix := obj.GetGenerateName()
		if end, ok := strings.CutPrefix(obj.GetName(), prefix); ok && prefix != "" && suffix.MatchString(end) {
			a.add(prefix, obj.GetName())
		}
		if ip, _, _ := unstructured.NestedString(obj.Object, "status", "podIP"); simulated.MatchString(ip) {
			a.add(ip[:strings.LastIndex(ip, ".")+1], ip)
		}
	}
}

// simulated are the addresses of pods on simulated nodes: of those that come at once, whoever is first has the first one.
var simulated = regexp.MustCompile(`^10\.128\.\d+\.\d+$`)

// add gives a name the next number, unless it has one.
func (a *aliases) add(prefix, name string) {
	if a.of[name] != "" {
		return
	}
	a.made[prefix]++
	a.of[name] = fmt.Sprintf("%s#%d", prefix, a.made[prefix])
	at, _ := slices.BinarySearchFunc(a.names, name, func(x, y string) int { return cmp.Compare(len(y), len(x)) })
	a.names = slices.Insert(a.names, at, name)
}

// suffix is what generated names end with.
var suffix = regexp.MustCompile(`^[bcdfghjklmnpqrstvwxz2456789]{5}\b`)

// mentioned gives names that an owner's objects would have had their numbers: what was refused, or has gone before anybody
// looked, is there in messages alone.
func (a *aliases) mentioned(owner, text string) {
	if !strings.Contains(text, owner) {
		return
	}
	prefix := owner + "-"
	for _, rest, found := strings.Cut(text, prefix); found; _, rest, found = strings.Cut(rest, prefix) {
		if end := suffix.FindString(rest); end != "" {
			a.add(prefix, prefix+end)
		}
	}
}

// aliased is a text with the names that it would have in any run.
func (s *stage) aliased(text string) string {
	for _, owner := range s.owners {
		s.names.mentioned(owner, text)
	}
	for _, name := range s.names.names {
		text = strings.ReplaceAll(text, name, s.names.of[name])
	}
	return text
}

// real is the name that an alias stands for.
func (s *stage) real(alias string) string {
	for name, a := range s.names.of {
		if a == alias {
			return name
		}
	}
	return alias
}
