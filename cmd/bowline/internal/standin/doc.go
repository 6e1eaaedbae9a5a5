// Package standin implements replacements of kube-apiserver and etcd for test suites that use envtest
// (sigs.k8s.io/controller-runtime/pkg/envtest). They accept the flags of these programs and respond as a
// cluster does. Both are the bowline binary, called by another name; Link creates a folder with these names
// for KUBEBUILDER_ASSETS.
//
// The API server is a plane with its objects in memory, which listens on a socket. Each flag is implemented,
// ignored because clients cannot observe its effect, or rejected before the server starts; apiserver_flags.go
// decides which. The etcd stores nothing. It answers health checks, and ensures that only one API server is
// started per etcd, because a second one would not have the objects of the first.
package standin
