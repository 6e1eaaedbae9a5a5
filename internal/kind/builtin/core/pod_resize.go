package core

import "github.com/bowline-dev/bowline/internal/kind"

// podResize changes the CPU and memory of a pod and its containers, if possible without a restart. It is the only way
// to change them in an existing pod; package podspec has its rules.
var podResize = kind.Subresource{
	Name:  "resize",
	Verbs: []string{"get", "patch", "update"},
	Owns: []string{"spec.containers.*.resources", "spec.containers.*.resizePolicy", "spec.initContainers.*.resources",
		"spec.initContainers.*.resizePolicy", "spec.resources"},
}
