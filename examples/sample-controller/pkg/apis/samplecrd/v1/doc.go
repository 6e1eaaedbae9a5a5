// Package v1 declares the Network kind of the documents. types.go and register.go are written by hand; the
// deep copies beside them and all of pkg/client are generated from their comments (the lines that begin with
// a plus) by
//
//	go generate ./examples/sample-controller/...
//
// The controller and other programs that read or write Networks import it.
// +k8s:deepcopy-gen=package
// +groupName=samplecrd.k8s.io
package v1

//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
//go:generate go tool client-gen --clientset-name versioned --fake-clientset=false --input-base github.com/bowline-dev/bowline/examples/sample-controller/pkg/apis --input samplecrd/v1 --output-dir ../../../client/clientset --output-pkg github.com/bowline-dev/bowline/examples/sample-controller/pkg/client/clientset
//go:generate go tool lister-gen --output-dir ../../../client/listers --output-pkg github.com/bowline-dev/bowline/examples/sample-controller/pkg/client/listers .
//go:generate go tool informer-gen --versioned-clientset-package github.com/bowline-dev/bowline/examples/sample-controller/pkg/client/clientset/versioned --listers-package github.com/bowline-dev/bowline/examples/sample-controller/pkg/client/listers --output-dir ../../../client/informers --output-pkg github.com/bowline-dev/bowline/examples/sample-controller/pkg/client/informers .
