// Package node is the agent of nodes: what a kubelet is to Kubernetes. It registers a Node, keeps its Lease renewed so that
// others see that it lives, and takes the pods that are bound to it through their lives, and writes their status.
//
//	m.Add...                              a controller.Manager, with whatever else it runs
//	node.Add(m, node.Options{Names: []string{"node-0"}, Runtime: runtime})
//
// What runs a pod is a Runtime. This package decides what it should start and stop, and when: the order of init containers and
// sidecars, restart policies and the back-off of what crashes, deadlines, graceful deletion. decide.go is that, of nothing but
// what was seen; admit.go which pods a node does not take at all, since there is no room for them, say; status.go, condition.go
// and tell.go say it in the words of a kubelet; pods.go carries it out, for the pods of any number of nodes, with a few
// goroutines for all of them. Package simulated has a Runtime that runs nothing. A pod that a kubelet would have others leave
// for, since it is critical, is refused like any other.
//
// It talks to nothing but the API, and works against any Kubernetes.
package node
