package main

import (
	"slices"
	"strings"
)

// networkController is the one controller that the library does not have: an example, run on request.
const networkController = "network"

// everyController stands, in a list of controllers, for all that are on by default.
const everyController = "*"

// selection is what --controllers asks for.
type selection struct {
	list    []string // for the library; empty is none
	network bool
}

// selectControllers reads a list as kube-controller-manager does: a name turns a controller on, -name turns it off,
// '*' turns on all that are on by default. The first mention of a name counts.
func selectControllers(list, known []string) (selection, error) {
	known = append(slices.Clone(known), networkController)
	slices.Sort(known)
	chosen := selection{list: []string{}}
	mentioned := false
	for _, entry := range list {
		entry = strings.TrimSpace(entry)
		name := strings.TrimPrefix(entry, "-")
		if entry != everyController && !slices.Contains(known, name) {
			return selection{}, usagef("--controllers names %q, which is no controller: known are %s, and '*' for all but %s",
				name, strings.Join(known, ", "), networkController)
		}
		if name != networkController {
			chosen.list = append(chosen.list, entry)
		} else if !mentioned {
			chosen.network, mentioned = entry == name, true
		}
	}
	return chosen, nil
}
