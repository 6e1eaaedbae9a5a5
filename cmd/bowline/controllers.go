package main

import (
	"slices"
	"strings"
)

// The controllers that the library does not have: examples, run on request.
const (
	ingressController = "ingress"
	networkController = "network"
)

var exampleControllers = []string{ingressController, networkController}

// everyController stands, in a list of controllers, for all that are on by default.
const everyController = "*"

// selection is what --controllers asks for.
type selection struct {
	list             []string // for the library; empty is none
	ingress, network bool
}

// runs says whether the library runs a controller; the first mention of it counts.
func (s selection) runs(name string) bool {
	for _, entry := range s.list {
		if strings.TrimPrefix(entry, "-") == name {
			return entry == name
		}
	}
	return slices.Contains(s.list, everyController)
}

// selectControllers reads a list as kube-controller-manager does: a name turns a controller on, -name turns it off,
// '*' turns on all that are on by default. The first mention of a name counts.
func selectControllers(list, known []string) (selection, error) {
	known = append(slices.Clone(known), exampleControllers...)
	slices.Sort(known)
	chosen := selection{list: []string{}}
	examples := map[string]bool{}
	for _, entry := range list {
		entry = strings.TrimSpace(entry)
		name := strings.TrimPrefix(entry, "-")
		if entry != everyController && !slices.Contains(known, name) {
			return selection{}, usagef("--controllers names %q, which is no controller: known are %s, and '*' for all but %s",
				name, strings.Join(known, ", "), strings.Join(exampleControllers, " and "))
		}
		if !slices.Contains(exampleControllers, name) {
			chosen.list = append(chosen.list, entry)
		} else if _, mentioned := examples[name]; !mentioned {
			examples[name] = entry == name
		}
	}
	chosen.ingress, chosen.network = examples[ingressController], examples[networkController]
	return chosen, nil
}
