package server

import (
	"runtime"

	"k8s.io/apimachinery/pkg/version"
)

// KubernetesVersion is the version of the Kubernetes API that the server speaks: that of the k8s.io libraries which it
// is built with, v0.X of which go with Kubernetes v1.X.
func KubernetesVersion() version.Info {
	return version.Info{
		Major: "1", Minor: "37", GitVersion: "v1.37.2+bowline",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}
