package core

import "github.com/bowline-dev/bowline/internal/kind"

// podEphemeralContainers adds containers for debugging to a pod (kubectl debug). It is the only way to change
// spec.ephemeralContainers; package podspec has its rules.
var podEphemeralContainers = kind.Subresource{
	Name:  "ephemeralcontainers",
	Verbs: []string{"get", "patch", "update"},
	Owns:  []string{"spec.ephemeralContainers"},
}
