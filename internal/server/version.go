package server

import (
	"runtime"

	"k8s.io/apimachinery/pkg/version"
)

// KubernetesVersion returns the version of the Kubernetes API that the server implements: that of the k8s.io
// libraries, of which v0.X belong to Kubernetes v1.X.
func KubernetesVersion() version.Info {
	return version.Info{
		Major: "1", Minor: "37", GitVersion: "v1.37.2+bowline",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}
