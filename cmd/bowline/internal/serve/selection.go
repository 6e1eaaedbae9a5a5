package serve

import (
	"slices"
	"strings"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/internal/controllers/serviceaccount"
	"github.com/bowline-dev/bowline/internal/plugins"
)

// Controllers that are not part of the library: examples, which run on request.
const (
	IngressController = "ingress"
	NetworkController = "network"
)

// ExampleControllers lists the controllers that run only on request.
var ExampleControllers = []string{IngressController, NetworkController}

// AllControllers selects all controllers that are on by default.
const AllControllers = "*"

// Selection is the parsed value of --controllers.
type Selection struct {
	List             []string // controllers of the library; empty for none
	Ingress, Network bool
}

// Runs reports whether the library runs a controller. The first entry for the name decides.
func (s Selection) Runs(name string) bool {
	for _, entry := range s.List {
		if strings.TrimPrefix(entry, "-") == name {
			return entry == name
		}
	}
	return slices.Contains(s.List, AllControllers)
}

// SelectControllers parses a list like kube-controller-manager: a name turns a controller on, -name turns it
// off, and '*' turns on all that are on by default. The first entry for a name decides. It returns a
// *cli.UsageError for an unknown name.
func SelectControllers(list, known []string) (Selection, error) {
	known = append(slices.Clone(known), ExampleControllers...)
	slices.Sort(known)
	chosen := Selection{List: []string{}}
	examples := map[string]bool{}
	for _, entry := range list {
		entry = strings.TrimSpace(entry)
		name := strings.TrimPrefix(entry, "-")
		if entry != AllControllers && !slices.Contains(known, name) {
			return Selection{},
				cli.Usagef("unknown controller %q in --controllers: known are %s, and '*' for all but %s",
					name, strings.Join(known, ", "), strings.Join(ExampleControllers, " and "))
		}
		if !slices.Contains(ExampleControllers, name) {
			chosen.List = append(chosen.List, entry)
		} else if _, mentioned := examples[name]; !mentioned {
			examples[name] = entry == name
		}
	}
	chosen.Ingress, chosen.Network = examples[IngressController], examples[NetworkController]
	return chosen, nil
}

// KnownControllers returns the names of the library's controllers.
func KnownControllers() []string { return bowline.Controllers() }

// PlaneControllers converts a selection for bowline.Options.Controllers, in which an empty list would select the
// default controllers.
func PlaneControllers(selected []string) []string {
	return append(slices.Clone(selected), bowline.NoControllers)
}

// Admission returns the list for bowline.Options.Admission: that of --admission, after the plugin ServiceAccount if the
// selection runs the controller that creates the service accounts.
func (s Selection) Admission(list []string) []string {
	if !s.Runs(serviceaccount.Name) {
		return list
	}
	return append([]string{plugins.ServiceAccount{}.Name()}, list...)
}
