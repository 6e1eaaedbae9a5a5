package transcript

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// aliases maps generated names, and the addresses of pods on simulated nodes, to stable names.
type aliases struct {
	byName map[string]string
	counts map[string]int
	names  []string // longest first
}

// note numbers new generated names. Names that come with one command are numbered in alphabetical order: if a
// controller chooses the first of several equal objects by name, the transcript shows the same one in each
// run. Names that extend a prefix in another way, such as those of a StatefulSet's pods, are stable and get
// no number.
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

// simulated matches the addresses of pods on simulated nodes, which are assigned in the order in which
// concurrent pods start.
var simulated = regexp.MustCompile(`^10\.128\.\d+\.\d+$`)

// add gives a name the next number of its prefix, unless it has one.
func (a *aliases) add(prefix, name string) {
	if a.byName[name] != "" {
		return
	}
	a.counts[prefix]++
	a.byName[name] = fmt.Sprintf("%s#%d", prefix, a.counts[prefix])
	at, _ := slices.BinarySearchFunc(a.names, name, func(x, y string) int { return cmp.Compare(len(y), len(x)) })
	a.names = slices.Insert(a.names, at, name)
}

// suffix matches the end of generated names.
var suffix = regexp.MustCompile(`^[bcdfghjklmnpqrstvwxz2456789]{5}\b`)

// mentioned numbers the generated names in a text that begin with an owner's name. Objects that were
// rejected, or deleted before they were listed, appear only in messages.
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

// aliased replaces generated names in a text by their aliases.
func (s *stage) aliased(text string) string {
	for _, owner := range s.owners {
		s.names.mentioned(owner, text)
	}
	for _, name := range s.names.names {
		text = strings.ReplaceAll(text, name, s.names.byName[name])
	}
	return text
}

// generatedName returns the name of an alias, or the text itself if it is not an alias.
func (s *stage) generatedName(alias string) string {
	for name, a := range s.names.byName {
		if a == alias {
			return name
		}
	}
	return alias
}
