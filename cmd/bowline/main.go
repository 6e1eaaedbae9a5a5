// Command bowline runs the Kubernetes API and its controllers in one process, without a cluster.
//
//	bowline up        serves the API and applies declared objects
//	bowline kubectl   runs kubectl; a symbolic link named kubectl does the same
//	bowline backup    writes the state of a server to a file; bowline restore creates a state folder from it
//	bowline verify    checks a state for damage and inconsistencies
//	bowline fork      serves a copy of a server's state; bowline diff-forks compares the two
//	bowline new       creates a project with a controller of a custom kind
//	bowline why       explains what controllers did to an object; bowline controllers lists the controllers
//	bowline doctor    finds stuck objects and what blocks them
//	bowline assets    creates a folder with kube-apiserver, etcd and kubectl for envtest; symbolic links
//	                  with these names run bowline in their place
//	bowline version   prints the versions of bowline and Kubernetes
//
// It adds to the library (package bowline) what a process needs: flags, a state folder, certificates, a
// kubeconfig, and signal handling. Apart from tests, only packages in cmd/bowline import kubectl or write a
// kubeconfig in this module.
package main

import "github.com/bowline-dev/bowline/cmd/bowline/internal/program"

func main() { program.Main() }
