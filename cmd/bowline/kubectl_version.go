package main

import (
	"runtime/debug"
	_ "unsafe" // for go:linkname

	"k8s.io/component-base/version"
)

// kubernetesVersion is the version that kubectl says it is. Kubernetes' own build sets it by a linker flag, which
// go run and go install do not have; what is there instead is no version, and kubectl version fails on it.
//
//go:linkname kubernetesVersion k8s.io/component-base/version.gitVersion
var kubernetesVersion string

// setKubectlVersion makes kubectl say the version of the module that it was built from.
func setKubectlVersion() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	kubernetesVersion = kubernetesOf(info)
	return version.SetDynamicVersion(kubernetesVersion)
}

// kubernetesOf is the Kubernetes version whose libraries are linked: v0.37.2 of a library is of Kubernetes v1.37.2.
func kubernetesOf(info *debug.BuildInfo) string {
	for _, module := range info.Deps {
		if module.Path == "k8s.io/client-go" {
			return "v1" + module.Version[len("v0"):]
		}
	}
	return "unknown"
}
