// Package standin is kube-apiserver and etcd as a suite of tests with envtest (sigs.k8s.io/controller-runtime/pkg/envtest)
// starts them: programs by these names, with their flags, which answer as a cluster's do. Both are the bowline binary, called
// by another name; Link puts the names into a folder that KUBEBUILDER_ASSETS may point to.
//
// The API server is a plane in memory, with a socket. What a flag asks for it does, or it says that it cannot and does not
// start: flags.go decides for each. etcd keeps nothing. It answers for its health, and sees to it that no API server takes
// another one's place, whose objects it would not have.
package standin
