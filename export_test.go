package bowline

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/controller"
)

// AddController adds a controller of a plane to a manager, by its name. The tokens that it signs are texts.
func AddController(name string, m *controller.Manager) {
	controllers[name](m, func(*corev1.ServiceAccount, string) (string, error) { return "a token", nil })
}

// Needs lists the resources that each controller needs.
var Needs = needs
