package bowline

import "github.com/bowline-dev/bowline/controller"

// AddController adds a controller of a plane to a manager, by its name.
func AddController(name string, m *controller.Manager) { controllers[name](m) }

// Needs lists the resources that each controller needs.
var Needs = needs
