package bowline

import (
	"fmt"
	"strings"
)

// controllerStart starts one controller on a plane, which stops it on Close.
type controllerStart func(*Plane) error

// controllers are all that a plane can run, by name.
var controllers = map[string]controllerStart{
	"namespace": startNamespaceController,
}

// choose reads a list of controllers as kube-controller-manager does: a name turns one on, -name turns it off, * turns
// on all others; the first that mentions a controller decides.
func choose(list []string) ([]controllerStart, error) {
	if list == nil {
		list = []string{"*"}
	}
	for _, entry := range list {
		if _, known := controllers[strings.TrimPrefix(entry, "-")]; entry != "*" && !known {
			return nil, fmt.Errorf("%q is no controller: known are %s, and * for all", entry, strings.Join(Controllers(), ", "))
		}
	}
	var chosen []controllerStart
	for _, name := range Controllers() {
		if wanted(name, list) {
			chosen = append(chosen, controllers[name])
		}
	}
	return chosen, nil
}

func wanted(name string, list []string) bool {
	all := false
	for _, entry := range list {
		switch entry {
		case name:
			return true
		case "-" + name:
			return false
		case "*":
			all = true
		}
	}
	return all
}
