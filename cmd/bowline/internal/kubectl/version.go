package kubectl

import (
	"runtime/debug"
	_ "unsafe" // for go:linkname

	kubeversion "k8s.io/component-base/version"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/version"
)

// kubernetesVersion is the version that kubectl reports. Kubernetes' own build sets it with a linker flag.
// With go run and go install, the default is not a valid version, and kubectl version fails.
//
//go:linkname kubernetesVersion k8s.io/component-base/version.gitVersion
var kubernetesVersion string

// setVersion makes kubectl report the version of the module that it was built from.
func setVersion() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	kubernetesVersion = version.Kubernetes(info)
	return kubeversion.SetDynamicVersion(kubernetesVersion)
}
